// The operations of one rank: what it reads and writes, and when that is complete.

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "generate.hpp"

namespace fuzz {

namespace {

/// Bytes that fill a user buffer before an operation, so that gaps are seen to stay untouched.
std::uint8_t filler(int operation) { return static_cast<std::uint8_t>(0xA0 + operation % 16); }

/// What an operation writes.
std::uint8_t written(std::uint64_t seed, int operation, std::size_t i) {
  return static_cast<std::uint8_t>(
      mix(seed ^ static_cast<std::uint64_t>(operation) << 20 ^ (i / 8)) >> (i % 8 * 8));
}

/// Its first `count` bytes, at `to`.
std::uint8_t* fill(std::uint8_t* to, int count, std::uint64_t seed, int operation) {
  for (int i = 0; i < count; ++i) to[i] = written(seed, operation, static_cast<std::size_t>(i));
  return to;
}

MPI_Aint displacement(const LiveWindow& live, int target, std::int64_t start, int unit,
                      int region_bytes) {
  if (live.addresses.empty()) return static_cast<MPI_Aint>(start / unit);
  const std::vector<MPI_Aint>& regions = live.addresses[static_cast<std::size_t>(target)];
  const auto region = static_cast<std::size_t>(start / region_bytes);
  return MPI_Aint_add(regions[region], static_cast<MPI_Aint>(start % region_bytes));
}

/// How an operation names a datatype: the layout's own handle, or one made and freed around the
/// call.
class Handle {
 public:
  Handle(const Layout& layout, bool keep)
      : layout_(layout), keep_(keep), type_(keep ? layout.kept() : layout.build()) {}
  ~Handle() {
    if (!keep_) Layout::release(type_, layout_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator MPI_Datatype() const { return type_; }

 private:
  const Layout& layout_;
  bool keep_;
  MPI_Datatype type_;
};

/// Where a load or store of `rank` finds the memory of `target`.
std::uint8_t* memory_at(LiveWindow& live, int rank, int target, std::int64_t start,
                        int region_bytes) {
  if (!live.direct.empty()) return live.direct[static_cast<std::size_t>(target)] + start;
  (void)rank;
  if (!live.regions.empty())
    return live.regions[static_cast<std::size_t>(start / region_bytes)] + start % region_bytes;
  return live.memory + start;
}

}  // namespace

void Expectation::check(World& world, const std::uint8_t* got) const {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(operation) + 77);
  for (std::size_t i = 0; i < bytes.size(); ++i) hash = (hash ^ got[i]) * 0x100000001b3ull;
  world.digest += hash;
  world.checked_bytes += static_cast<std::int64_t>(bytes.size());
  if (std::memcmp(bytes.data(), got, bytes.size()) == 0) return;
  if (world.failures++ > 3) return;
  std::size_t at = 0;
  std::size_t wrong = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    if (bytes[i] != got[i]) {
      at = i;
      ++wrong;
    }
  }
  std::string expected_text;
  std::string got_text;
  for (std::size_t i = at; i < std::min(bytes.size(), at + 8); ++i) {
    char text[4];
    std::snprintf(text, sizeof text, "%02x", bytes[i]);
    expected_text += text;
    std::snprintf(text, sizeof text, "%02x", got[i]);
    got_text += text;
  }
  std::printf(
      "MISMATCH program %d seed %llu rank %d operation %d (%s) window %d target %d byte %lld: "
      "buffer byte %zu (%zu of %zu wrong) expected %s got %s\n",
      world.program, static_cast<unsigned long long>(world.program_seed), world.rank, operation,
      what.c_str(), window, target, static_cast<long long>(displacement), at, wrong, bytes.size(),
      expected_text.c_str(), got_text.c_str());
  std::fflush(stdout);
}

/// MPICH 5 ends with a failed assertion where it packs more than this for an active message.
bool Generator::too_long_for_types(Base base, int elements) {
  return elements * size_of(base) > 4096;
}

int Generator::take_slot(int rank) {
  std::vector<bool>& used = slot_used_[static_cast<std::size_t>(rank)];
  const auto r = static_cast<std::size_t>(rank);
  int first = random_.below(8);  // few slots in use, so that buffers are reused soon
  for (int i = 0; i < kSlots; ++i) {
    const auto slot = static_cast<std::size_t>((first + i) % kSlots);
    if (used[slot]) continue;
    used[slot] = true;
    if (threaded_) held_slots_[r].push_back(static_cast<int>(slot));
    return static_cast<int>(slot);
  }
  return -1;
}

void Generator::give_slot(int rank, int slot) {
  if (slot >= 0 && !threaded_)
    slot_used_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(slot)] = false;
}

bool Generator::choose_place(int id, int target, Base base, int elements, bool types,
                             Place& place) {
  const Window& window = *windows_[static_cast<std::size_t>(id)];
  const Memory& memory = window.memory(target);
  const Shown& shown = window.part(target);
  if (shown.size == 0) return false;
  const int per = random_.divisor(elements);
  place.count = elements / per;
  place.layout = Layout::random(random_, base, per,
                                !types || too_long_for_types(base, elements) || random_.chance(40));
  place.places = place.layout->places(place.count);
  const int size = size_of(base);
  const std::int64_t high = *std::max_element(place.places.begin(), place.places.end()) + size;
  const int part = window.region_bytes(target);
  const int region = random_.below(memory.regions);
  if (high > part) return false;
  const std::int64_t room = (part - high) / shown.unit;
  for (int attempt = 0; attempt < 8; ++attempt) {
    // Low addresses are favoured, so that operations meet.
    const std::int64_t at = burst_ != nullptr ? place_in_burst(room)
                                              : random_.below(static_cast<int>(room + 1)) /
                                                    (random_.chance(50) ? 4 : 1);
    const std::int64_t start = shown.first + region * part + at * shown.unit;
    if (start % size != 0) continue;
    place.start = start;
    place.blocks = blocks_of(place.places, start, size);
    return true;
  }
  return false;
}

void Generator::remember(int id, int target, const Place& place, Base base) {
  std::vector<Template>& list = templates_[windows_[static_cast<std::size_t>(id)]->root];
  if (list.size() < 12)
    list.push_back({target, place.start, place.count, base, place.layout});
  else
    list[static_cast<std::size_t>(random_.below(12))] = {target, place.start, place.count, base,
                                                         place.layout};
}

/// A place that overlaps, contains, extends or repeats an earlier one.
bool Generator::revisit(int id, Ranks targets, int& target, Base& base, Place& place) {
  const Window& window = *windows_[static_cast<std::size_t>(id)];
  std::vector<Template>& list = templates_[window.root];
  if (list.empty()) return false;
  const Template& old = random_.pick(list);
  if ((targets >> old.target & 1) == 0) return false;
  target = old.target;
  const Shown& shown = window.part(target);
  base = old.base;
  place.start = old.start;
  place.count = old.count;
  place.layout = old.layout;
  const int change = random_.below(100);
  if (change < 40) {
  } else if (change < 60) {
    place.count += 1 + random_.below(4);
  } else if (change < 70) {
    place.count = std::max(1, place.count - 1 - random_.below(3));
  } else {
    // Contained or overlapping, as plain bytes.
    const std::int64_t span = std::min<std::int64_t>(2048, old.layout->extent() * old.count);
    std::int64_t from = random_.below(static_cast<int>(span));
    std::int64_t length = 1 + random_.below(static_cast<int>(change < 90 ? span - from : span));
    from -= (old.start + from - shown.first) % shown.unit;
    if (old.start + from < shown.first) return false;
    base = Base::kByte;
    place.start = old.start + from;
    place.count = static_cast<int>(length);
    place.layout = Layout::random(random_, base, 1, true);
  }
  place.places = place.layout->places(place.count);
  const int part = window.region_bytes(target);
  const std::int64_t low = place.start - shown.first;
  const std::int64_t high =
      low + *std::max_element(place.places.begin(), place.places.end()) + size_of(base);
  if (low < 0 || low % shown.unit != 0 || low / part != (high - 1) / part || high > shown.size ||
      place.places.size() * static_cast<std::size_t>(size_of(base)) > 4096)
    return false;
  place.blocks = blocks_of(place.places, place.start, size_of(base));
  return true;
}

/// The user's side of an operation on `elements` elements.
bool Generator::choose_buffer(int rank, Base base, int elements, Buffer& buffer) {
  const int per = random_.divisor(elements);
  buffer.count = elements / per;
  buffer.layout = Layout::random(
      random_, base, per, !on_.types || too_long_for_types(base, elements) || random_.chance(50));
  buffer.places = buffer.layout->places(buffer.count);
  buffer.offset = size_of(base) * random_.below(8);
  std::int64_t high = *std::max_element(buffer.places.begin(), buffer.places.end()) + size_of(base);
  if (high + buffer.offset + 64 > kSlotBytes) return false;
  buffer.used = static_cast<int>(high + buffer.offset + 32);
  buffer.slot = take_slot(rank);
  return buffer.slot >= 0;
}

/// Whether an operation may have a request of its own.
bool Generator::may_request(const Place& place, const Buffer& buffer) const {
  return on_.request && (on_.typed_request || (place.layout->bare() && buffer.layout->bare()));
}

int Generator::random_elements(Base base) {
  if (burst_ != nullptr && burst_->long_ones && random_.chance(25))
    return (4096 + random_.below(4096)) / size_of(base);
  const int roll = random_.below(100);
  int elements;
  if (roll < 30)
    elements = 1 + random_.below(4);
  else if (roll < 80)
    elements = 1 + random_.below(40);
  else
    elements = 1 + random_.below(400);
  return std::max(1, std::min(elements, 4096 / size_of(base)));
}

void Generator::operation(int rank, int id, Ranks targets, bool reads_only, bool warm_only) {
  if (targets == 0) return;
  int target = random_.below(size_);
  while ((targets >> target & 1) == 0) target = (target + 1) % size_;
  if (!on_.write || read_only(id)) reads_only = true;
  const int roll = random_.below(100);
  const std::size_t before = outstanding_[static_cast<std::size_t>(rank)].size();
  if (warm_only) {
    get(rank, id, targets, on_.fetch && random_.chance(15), true);
  } else if (roll < 4) {
    nothing(rank, id, target);
  } else if (roll < 60 || reads_only) {
    get(rank, id, targets, on_.fetch && random_.chance(12), false);
  } else if (roll < 80) {
    put(rank, id, target);
  } else if (roll < 92 && on_.accumulate) {
    accumulate(rank, id, target, on_.fetch && random_.chance(40));
  } else if (on_.accumulate && on_.fetch) {
    single(rank, id, target);
  }
  if (outstanding_[static_cast<std::size_t>(rank)].size() != before)
    windows_[static_cast<std::size_t>(id)]->used = true;
}

void Generator::get(int rank, int id, Ranks targets, bool fetch, bool warm_only) {
  Window& window = *windows_[static_cast<std::size_t>(id)];
  Base base = fetch ? random_integer(random_) : random_base(random_);
  Place place;
  int target = random_.below(size_);
  while ((targets >> target & 1) == 0) target = (target + 1) % size_;
  bool found = false;
  if (random_.chance(reading_ ? 90 : 60)) found = revisit(id, targets, target, base, place);
  if (!found) found = choose_place(id, target, base, random_elements(base), on_.types, place);
  if (!found) return;
  if (fetch && (base == Base::kByte || base == Base::kChar || base == Base::kDouble)) fetch = false;
  Memory& memory = window.memory(target);
  const bool checked =
      !warm_only && burst_read(place.blocks) &&
      (may_read(memory, place.blocks, rank) ||
       (fetch && may_read_own_sums(memory, place.blocks, rank, base, window.alias)));
  if (!checked && (!on_.warm || !on_.write)) return;
  // While its owner changes it, memory may not be there.
  if (!checked && !memory.pages.empty()) return;
  if (!checked && window.regime == Regime::kFence)
    return;  // conflicting accesses within one fence epoch

  const int elements = static_cast<int>(place.places.size());
  Buffer buffer;
  if (!choose_buffer(rank, base, elements, buffer)) return;
  const bool passive = window.regime == Regime::kLock || window.regime == Regime::kLockAll;
  const int request =
      passive && may_request(place, buffer) && random_.chance(30) ? requests_++ : -1;
  const int operation = ++operations_;
  Outstanding record{operation, id,          target, buffer.slot, request,      rank,
                     true,      request < 0, false,  false,       place.blocks, nullptr};
  if (checked) {
    note_read(memory, place.blocks, rank);
    note_burst(place.blocks, false, 0);
    auto expectation = std::make_shared<Expectation>();
    expectation->operation = operation;
    expectation->slot = buffer.slot;
    expectation->window = id;
    expectation->target = target;
    expectation->displacement = place.start;
    if (rank == rank_) {
      expectation->what = fetch ? "get_accumulate no_op" : request >= 0 ? "rget" : "get";
      expectation->bytes.assign(static_cast<std::size_t>(buffer.used), filler(operation));
      const auto size = static_cast<std::size_t>(size_of(base));
      for (std::size_t e = 0; e < place.places.size(); ++e) {
        std::memcpy(&expectation->bytes[static_cast<std::size_t>(buffer.offset + buffer.places[e])],
                    &memory.bytes[static_cast<std::size_t>(place.start + place.places[e])], size);
      }
    }
    record.expectation = expectation;
  }
  const bool keep_here = !threaded_ && random_.chance(50);
  const bool keep_there = !threaded_ && random_.chance(50);
  const int unit = window.part(target).unit;
  const int part = window.region_bytes(target);
  const std::int64_t from = place.start - window.part(target).first;
  emit(
      rank,
      [=, count = place.count, layout = place.layout](World& world) {
        LiveWindow& live = world.windows[static_cast<std::size_t>(id)];
        std::memset(world.slot(buffer.slot), filler(operation),
                    static_cast<std::size_t>(buffer.used));
        void* user = world.slot(buffer.slot) + buffer.offset;
        const Handle here(*buffer.layout, keep_here);
        const Handle there(*layout, keep_there);
        const MPI_Aint at = displacement(live, target, from, unit, part);
        MPI_Request* handle =
            request < 0 ? nullptr : &world.requests[static_cast<std::size_t>(request)];
        if (fetch && handle != nullptr)
          MPI_Rget_accumulate(nullptr, 0, mpi_type(base), user, buffer.count, here, target, at,
                              count, there, MPI_NO_OP, live.win, handle);
        else if (fetch)
          MPI_Get_accumulate(nullptr, 0, mpi_type(base), user, buffer.count, here, target, at,
                             count, there, MPI_NO_OP, live.win);
        else if (handle != nullptr)
          MPI_Rget(user, buffer.count, here, target, at, count, there, live.win, handle);
        else
          MPI_Get(user, buffer.count, here, target, at, count, there, live.win);
      },
      "op %d: %s%s w%d target %d byte %lld + %d x (%d elements of %d, extent %lld) into slot "
      "%d%s%s",
      operation, fetch ? "get_accumulate(no_op)" : "get", request >= 0 ? " with request" : "", id,
      target, static_cast<long long>(place.start), place.count, place.layout->elements(),
      size_of(base), static_cast<long long>(place.layout->extent()), buffer.slot,
      checked ? "" : ", unchecked",
      request >= 0 ? (", request " + std::to_string(request)).c_str() : "");
  outstanding_[static_cast<std::size_t>(rank)].push_back(std::move(record));
  remember(id, target, place, base);
}

void Generator::put(int rank, int id, int target) {
  Window& window = *windows_[static_cast<std::size_t>(id)];
  Memory& memory = window.memory(target);
  Base base = random_base(random_);
  Place place;
  int chosen = target;
  bool found = random_.chance(50) && revisit(id, Ranks{1} << target, chosen, base, place);
  if (!found) found = choose_place(id, target, base, random_elements(base), on_.types, place);
  if (!found || !may_write(memory, place.blocks, rank) || !burst_write(place.blocks, 0) ||
      own_gets_overlap(rank, id, target, place.blocks))
    return;
  Buffer buffer;
  if (!choose_buffer(rank, base, static_cast<int>(place.places.size()), buffer)) return;
  const bool passive = window.regime == Regime::kLock || window.regime == Regime::kLockAll;
  const int request =
      passive && may_request(place, buffer) && random_.chance(25) ? requests_++ : -1;
  const int operation = ++operations_;
  begin_write(memory, place.blocks, rank, 0);
  note_burst(place.blocks, true, 0);
  const auto size = static_cast<std::size_t>(size_of(base));
  for (std::size_t e = 0; e < place.places.size(); ++e) {
    for (std::size_t i = 0; i < size; ++i) {
      memory.bytes[static_cast<std::size_t>(place.start + place.places[e]) + i] =
          written(seed_, operation, static_cast<std::size_t>(buffer.offset + buffer.places[e]) + i);
    }
  }
  const bool keep_here = !threaded_ && random_.chance(50);
  const bool keep_there = !threaded_ && random_.chance(50);
  const int unit = window.part(target).unit;
  const int part = window.region_bytes(target);
  const std::int64_t from = place.start - window.part(target).first;
  emit(
      rank,
      [=, seed = seed_, count = place.count, layout = place.layout](World& world) {
        LiveWindow& live = world.windows[static_cast<std::size_t>(id)];
        std::uint8_t* slot = fill(world.slot(buffer.slot), buffer.used, seed, operation);
        const Handle here(*buffer.layout, keep_here);
        const Handle there(*layout, keep_there);
        const MPI_Aint at = displacement(live, target, from, unit, part);
        if (request >= 0)
          MPI_Rput(slot + buffer.offset, buffer.count, here, target, at, count, there, live.win,
                   &world.requests[static_cast<std::size_t>(request)]);
        else
          MPI_Put(slot + buffer.offset, buffer.count, here, target, at, count, there, live.win);
      },
      "op %d: put w%d target %d byte %lld + %d x (%d elements of %d, extent %lld) slot %d request "
      "%d",
      operation, id, target, static_cast<long long>(place.start), place.count,
      place.layout->elements(), size_of(base), static_cast<long long>(place.layout->extent()),
      buffer.slot, request);
  outstanding_[static_cast<std::size_t>(rank)].push_back({operation, id, target, buffer.slot,
                                                          request, rank, false, request < 0, false,
                                                          false, place.blocks, nullptr});
  remember(id, target, place, base);
}

void Generator::accumulate(int rank, int id, int target, bool fetch) {
  Window& window = *windows_[static_cast<std::size_t>(id)];
  Memory& memory = window.memory(target);
  Base base = random_integer(random_);
  static const std::vector<Op> ops = {Op::kReplace, Op::kSum, Op::kSum, Op::kSum, Op::kProd,
                                      Op::kXor,     Op::kAnd, Op::kOr,  Op::kMax, Op::kMin};
  Op op = random_.pick(ops);
  if (burst_ != nullptr && random_.chance(70)) {
    base = burst_->base;
    op = burst_->op;
  }
  const std::uint16_t sum = op == Op::kReplace ? std::uint16_t{0} : sum_of(op, base, window.alias);
  Place place;
  if (!choose_place(id, target, base, std::min(64, random_elements(base)), on_.types, place))
    return;
  const bool allowed = sum == 0 ? may_write(memory, place.blocks, rank)
                                : may_accumulate(memory, place.blocks, rank, sum);
  if (!allowed || !burst_write(place.blocks, sum) ||
      own_gets_overlap(rank, id, target, place.blocks))
    return;
  const int elements = static_cast<int>(place.places.size());
  Buffer buffer;
  Buffer result;
  if (!choose_buffer(rank, base, elements, buffer)) return;
  if (fetch && !choose_buffer(rank, base, elements, result)) fetch = false;
  const bool passive = window.regime == Regime::kLock || window.regime == Regime::kLockAll;
  const int request =
      passive && may_request(place, buffer) && random_.chance(25) ? requests_++ : -1;
  const int operation = ++operations_;
  // What threads add at the same time comes in any order.
  const bool checked = fetch && burst_ == nullptr &&
                       may_read_own_sums(memory, place.blocks, rank, base, window.alias);

  std::shared_ptr<Expectation> expectation;
  if (checked) {
    note_read(memory, place.blocks, rank);
    expectation = std::make_shared<Expectation>();
    expectation->operation = operation;
    expectation->slot = result.slot;
    expectation->window = id;
    expectation->target = target;
    expectation->displacement = place.start;
    expectation->what = "get_accumulate";
    expectation->bytes.assign(static_cast<std::size_t>(result.used), filler(operation));
  }
  begin_write(memory, place.blocks, rank, sum);
  note_burst(place.blocks, true, sum);
  const auto size = static_cast<std::size_t>(size_of(base));
  for (std::size_t e = 0; e < place.places.size(); ++e) {
    std::uint8_t value[8];
    for (std::size_t i = 0; i < size; ++i)
      value[i] =
          written(seed_, operation, static_cast<std::size_t>(buffer.offset + buffer.places[e]) + i);
    std::uint8_t* bytes = &memory.bytes[static_cast<std::size_t>(place.start + place.places[e])];
    if (checked)
      std::memcpy(&expectation->bytes[static_cast<std::size_t>(result.offset + result.places[e])],
                  bytes, size);
    combine(op, base, bytes, value);
  }
  const int unit = window.part(target).unit;
  const int part = window.region_bytes(target);
  const std::int64_t from = place.start - window.part(target).first;
  emit(
      rank,
      [=, keep = !threaded_, seed = seed_, count = place.count,
       layout = place.layout](World& world) {
        LiveWindow& live = world.windows[static_cast<std::size_t>(id)];
        std::uint8_t* slot = fill(world.slot(buffer.slot), buffer.used, seed, operation);
        const Handle here(*buffer.layout, false);
        const Handle there(*layout, keep);
        const MPI_Aint at = displacement(live, target, from, unit, part);
        MPI_Request* handle =
            request < 0 ? nullptr : &world.requests[static_cast<std::size_t>(request)];
        void* user = slot + buffer.offset;
        if (fetch) {
          std::memset(world.slot(result.slot), filler(operation),
                      static_cast<std::size_t>(result.used));
          const Handle back(*result.layout, false);
          void* old = world.slot(result.slot) + result.offset;
          if (handle != nullptr)
            MPI_Rget_accumulate(user, buffer.count, here, old, result.count, back, target, at,
                                count, there, mpi_op(op), live.win, handle);
          else
            MPI_Get_accumulate(user, buffer.count, here, old, result.count, back, target, at, count,
                               there, mpi_op(op), live.win);
        } else if (handle != nullptr) {
          MPI_Raccumulate(user, buffer.count, here, target, at, count, there, mpi_op(op), live.win,
                          handle);
        } else {
          MPI_Accumulate(user, buffer.count, here, target, at, count, there, mpi_op(op), live.win);
        }
      },
      "op %d: %s op %d w%d target %d byte %lld + %d x (%d elements of %d) slot %d request %d%s",
      operation, fetch ? "get_accumulate" : "accumulate", static_cast<int>(op), id, target,
      static_cast<long long>(place.start), place.count, place.layout->elements(), size_of(base),
      buffer.slot, request, checked ? ", checked" : "");
  outstanding_[static_cast<std::size_t>(rank)].push_back({operation, id, target, buffer.slot,
                                                          request, rank, false, request < 0, false,
                                                          false, place.blocks, nullptr});
  if (fetch) {
    outstanding_[static_cast<std::size_t>(rank)].push_back(
        {operation, id, target, result.slot, -1, rank, true, true, false, false, {}, expectation});
  }
}

/// Fetch_and_op or compare_and_swap.
void Generator::single(int rank, int id, int target) {
  Window& window = *windows_[static_cast<std::size_t>(id)];
  Memory& memory = window.memory(target);
  const Base base = random_.chance(50) ? Base::kUint32 : Base::kUint64;
  Place place;
  if (!choose_place(id, target, base, 1, false, place)) return;
  const bool swap = random_.chance(30);
  static const std::vector<Op> ops = {Op::kSum, Op::kSum, Op::kReplace, Op::kXor, Op::kNoOp};
  const Op op = random_.pick(ops);
  if (!may_read(memory, place.blocks, rank) || own_gets_overlap(rank, id, target, place.blocks))
    return;
  const bool writes = swap || op != Op::kNoOp;
  if (writes && !may_write(memory, place.blocks, rank)) return;
  if (!burst_read(place.blocks) || (writes && !burst_write(place.blocks, 0))) return;
  Buffer buffer;
  Buffer result;
  if (!choose_buffer(rank, base, 1, buffer) || !choose_buffer(rank, base, 1, result)) return;
  const int operation = ++operations_;
  const auto size = static_cast<std::size_t>(size_of(base));
  auto expectation = std::make_shared<Expectation>();
  *expectation = Expectation{
      operation,
      result.slot,
      id,
      target,
      place.start,
      std::vector<std::uint8_t>(static_cast<std::size_t>(result.used), filler(operation)),
      swap ? "compare_and_swap" : "fetch_and_op"};
  std::uint8_t* bytes = &memory.bytes[static_cast<std::size_t>(place.start + place.places[0])];
  std::memcpy(&expectation->bytes[static_cast<std::size_t>(result.offset)], bytes, size);
  note_read(memory, place.blocks, rank);
  note_burst(place.blocks, writes, 0);
  std::uint8_t compare[8];
  std::memcpy(compare, bytes, size);
  const bool matches = random_.chance(60);
  if (!matches) compare[0] = static_cast<std::uint8_t>(compare[0] ^ 1);
  std::uint8_t value[8];
  for (std::size_t i = 0; i < size; ++i) value[i] = written(seed_, operation, i);
  if (writes) {
    begin_write(memory, place.blocks, rank, 0);
    if (swap && matches) std::memcpy(bytes, value, size);
    if (!swap) combine(op, base, bytes, value);
  }
  std::uint64_t compared = 0;
  std::memcpy(&compared, compare, size);
  const int unit = window.part(target).unit;
  const int part = window.region_bytes(target);
  const std::int64_t from = place.start - window.part(target).first;
  emit(
      rank,
      [=, seed = seed_](World& world) {
        LiveWindow& live = world.windows[static_cast<std::size_t>(id)];
        std::uint8_t* slot = world.slot(buffer.slot);
        std::uint64_t number = compared;
        for (std::size_t i = 0; i < size; ++i)
          slot[buffer.offset + static_cast<int>(i)] = written(seed, operation, i);
        std::memcpy(slot + 128, &number, sizeof number);
        std::memset(world.slot(result.slot), filler(operation),
                    static_cast<std::size_t>(result.used));
        void* old = world.slot(result.slot) + result.offset;
        const MPI_Aint at = displacement(live, target, from, unit, part);
        if (swap)
          MPI_Compare_and_swap(slot + buffer.offset, slot + 128, old, mpi_type(base), target, at,
                               live.win);
        else
          MPI_Fetch_and_op(slot + buffer.offset, old, mpi_type(base), target, at, mpi_op(op),
                           live.win);
      },
      "op %d: %s op %d w%d target %d byte %lld size %zu", operation,
      swap ? "compare_and_swap" : "fetch_and_op", static_cast<int>(op), id, target,
      static_cast<long long>(place.start), size);
  auto& list = outstanding_[static_cast<std::size_t>(rank)];
  list.push_back({operation, id, target, buffer.slot, -1, rank, false, true, false, false,
                  writes ? place.blocks : Blocks{}, nullptr});
  list.push_back({operation, id, target, result.slot, -1, rank, true, true, false, false,
                  place.blocks, expectation});
}

/// Zero elements, or nobody as the target: must change nothing.
void Generator::nothing(int rank, int id, int target) {
  const Window& window = *windows_[static_cast<std::size_t>(id)];
  const bool passive = window.regime == Regime::kLock || window.regime == Regime::kLockAll;
  const bool nobody = window.kind == WindowKind::kDynamic || random_.chance(50);
  const int kind = random_.below(passive && on_.request ? 5 : 3);
  if (!on_.write && kind != 0 && kind != 3) return;
  emit(
      rank,
      [=](World& world) {
        LiveWindow& live = world.windows[static_cast<std::size_t>(id)];
        const int count = nobody ? 5 : 0;
        const int to = nobody ? MPI_PROC_NULL : target;
        int user[5] = {7, 7, 7, 7, 7};
        const int one = 1;
        MPI_Request request = MPI_REQUEST_NULL;
        switch (kind) {
          case 0:
            MPI_Get(user, count, MPI_INT, to, 0, count, MPI_INT, live.win);
            break;
          case 1:
            MPI_Put(user, count, MPI_INT, to, 0, count, MPI_INT, live.win);
            break;
          case 2:
            MPI_Accumulate(&one, nobody, MPI_INT, to, 0, nobody, MPI_INT, MPI_SUM, live.win);
            break;
          case 3:
            MPI_Rget(user, count, MPI_INT, to, 0, count, MPI_INT, live.win, &request);
            break;
          case 4:
            MPI_Rput(user, count, MPI_INT, to, 0, count, MPI_INT, live.win, &request);
            break;
        }
        if (kind >= 3) MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int value : user) {
          if (value != 7 && world.failures++ < 3)
            std::printf("MISMATCH program %d: an empty get wrote into the user's buffer\n",
                        world.program);
        }
      },
      "nothing: kind %d w%d %s", kind, id, nobody ? "to nobody" : "of zero size");
}

bool Generator::own_gets_overlap(int rank, int id, int target, const Blocks& blocks) const {
  const int root = windows_[static_cast<std::size_t>(id)]->root;
  const auto meets = [&](const Outstanding& o) {
    return o.get && !o.local && windows_[static_cast<std::size_t>(o.window)]->root == root &&
           o.target == target && overlap(o.blocks, blocks);
  };
  const std::vector<Outstanding>& own = outstanding_[static_cast<std::size_t>(rank)];
  return std::any_of(own.begin(), own.end(), meets) ||
         std::any_of(before_threads_.begin(), before_threads_.end(), meets);
}

/// A store by `rank` into `target`'s part of the window; `synced` says how it becomes visible.
bool Generator::choose_store(int rank, int id, int target, int& start, int& length,
                             int& operation) {
  const Window& window = *windows_[static_cast<std::size_t>(id)];
  Memory& memory = window.memory(target);
  if (window.part(target).size == 0) return false;
  const int part = window.region_bytes(target);
  length = 1 + random_.below(std::min(part, 200));
  start = window.part(target).first + random_.below(memory.regions) * part +
          random_.below(part - length + 1);
  const Blocks blocks =
      blocks_of(Layout::random(random_, Base::kByte, 1, true)->places(length), start, 1);
  if (!may_write(memory, blocks, rank) || own_gets_overlap(rank, id, target, blocks)) return false;
  operation = ++operations_;
  begin_write(memory, blocks, rank, 0);
  for (int i = 0; i < length; ++i)
    memory.bytes[static_cast<std::size_t>(start + i)] =
        written(seed_, operation, static_cast<std::size_t>(i));
  return true;
}

void Generator::plain_store(int rank, int id) {
  Window& window = *windows_[static_cast<std::size_t>(id)];
  int start, length, operation;
  if (!others_over(id).empty()) return;  // they would have to be synchronised in an epoch
  if (!choose_store(rank, id, rank, start, length, operation)) return;
  window.stored = true;
  Memory& memory = window.memory(rank);
  complete_write(memory,
                 blocks_of(Layout::random(random_, Base::kByte, 1, true)->places(length), start, 1),
                 rank, rank);
  const int part = window.region_bytes(rank);
  emit(
      rank,
      [=, seed = seed_](World& world) {
        std::uint8_t* to =
            memory_at(world.windows[static_cast<std::size_t>(id)], rank, rank, start, part);
        fill(to, length, seed, operation);
      },
      "op %d: store w%d byte %d + %d", operation, id, start, length);
}

void Generator::store(int rank, int id) {
  Window& window = *windows_[static_cast<std::size_t>(id)];
  if (!on_.write || !on_.store || window.regime == Regime::kPscw || read_only(id) ||
      (window.regime == Regime::kLock && window.shared_only))
    return;
  const std::vector<int> others = others_over(id);
  if (!others.empty() && !passive(id)) return;
  if (!std::all_of(others.begin(), others.end(), [&](int w) { return passive(w); })) return;
  const int target =
      window.kind == WindowKind::kShared && others.empty() ? random_.below(size_) : rank;
  int start, length, operation;
  if (!choose_store(rank, id, target, start, length, operation)) return;
  const Blocks blocks =
      blocks_of(Layout::random(random_, Base::kByte, 1, true)->places(length), start, 1);
  Memory& memory = window.memory(target);
  window.stored = true;
  const Regime regime = window.regime;
  if (regime == Regime::kFence) {
    outstanding_[static_cast<std::size_t>(rank)].push_back(
        {operation, id, target, -1, -1, rank, false, true, true, false, blocks, nullptr});
  } else {
    complete_write(memory, blocks, rank, rank);
  }
  const int part = window.region_bytes(target);
  emit(
      rank,
      [=, seed = seed_](World& world) {
        LiveWindow& live = world.windows[static_cast<std::size_t>(id)];
        if (regime == Regime::kLockAll) MPI_Win_sync(live.win);
        if (regime == Regime::kLock) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, live.win);
        std::uint8_t* to = memory_at(live, rank, target, start, part);
        fill(to, length, seed, operation);
        if (regime == Regime::kLockAll) MPI_Win_sync(live.win);
        if (regime == Regime::kLock) MPI_Win_unlock(target, live.win);
      },
      "op %d: store w%d of rank %d byte %d + %d", operation, id, target, start, length);
  for (int w : others) synchronise_own(rank, w);
}

void Generator::load(int rank, int id) {
  Window& window = *windows_[static_cast<std::size_t>(id)];
  if (!on_.store || window.regime == Regime::kPscw) return;
  const int target =
      window.kind == WindowKind::kShared && others_over(id).empty() ? random_.below(size_) : rank;
  Memory& memory = window.memory(target);
  if (window.part(target).size == 0) return;
  const int part = window.region_bytes(target);
  const int length = 1 + random_.below(std::min(part, 200));
  const int start = window.part(target).first + random_.below(memory.regions) * part +
                    random_.below(part - length + 1);
  const Blocks blocks =
      blocks_of(Layout::random(random_, Base::kByte, 1, true)->places(length), start, 1);
  if (!may_read(memory, blocks, rank)) return;
  note_read(memory, blocks, rank);
  for (int w : others_over(id)) {
    if (passive(w)) synchronise_own(rank, w);
  }
  const Regime regime = window.regime;
  Expectation expectation{
      ++operations_, -1,    id,
      target,        start, {memory.bytes.begin() + start, memory.bytes.begin() + start + length},
      "load"};
  emit(
      rank,
      [=](World& world) {
        LiveWindow& live = world.windows[static_cast<std::size_t>(id)];
        if (regime == Regime::kLockAll) MPI_Win_sync(live.win);
        if (regime == Regime::kLock) MPI_Win_lock(MPI_LOCK_SHARED, target, 0, live.win);
        expectation.check(world, memory_at(live, rank, target, start, part));
        if (regime == Regime::kLock) MPI_Win_unlock(target, live.win);
      },
      "op %d: load w%d of rank %d byte %d + %d", operations_, id, target, start, length);
}

void Generator::burst(int rank, int id) {
  Window& window = *windows_[static_cast<std::size_t>(id)];
  Ranks targets = access_of(rank, id);
  if (random_.chance(12)) {
    if (random_.chance(50))
      store(rank, id);
    else
      load(rank, id);
  }
  if (targets == 0) return;
  // Now and then many reads of the same few places, with hardly anything in between.
  reading_ = random_.chance(35);
  const int operations = reading_ ? 8 + random_.below(25) : 1 + random_.below(5);
  if (window.regime != Regime::kLock) {
    for (int i = 0; i < operations; ++i) {
      operation(rank, id, targets, reading_ && random_.chance(85), false);
      if (window.regime == Regime::kLockAll && random_.chance(35)) completion_event(rank, id);
    }
    if (window.regime == Regime::kLockAll && random_.chance(60)) completion_event(rank, id);
    reading_ = false;
    return;
  }
  const bool all = on_.lockall && random_.chance(20);
  const bool exclusive = !all && on_.exclusive && !window.shared_only && random_.chance(35);
  const int assertion = window.shared_only && random_.chance(70) ? MPI_MODE_NOCHECK : 0;
  int target = random_.below(size_);
  const int second =
      !all && !exclusive && size_ > 1 && random_.chance(20) ? (target + 1) % size_ : -1;
  targets = all ? everybody() : Ranks{1} << target | (second >= 0 ? Ranks{1} << second : 0);
  emit(
      rank,
      [=](World& world) {
        MPI_Win win = world.windows[static_cast<std::size_t>(id)].win;
        if (all)
          MPI_Win_lock_all(0, win);
        else
          MPI_Win_lock(exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, assertion, win);
        if (second >= 0) MPI_Win_lock(MPI_LOCK_SHARED, second, assertion, win);
      },
      "w%d: %s %d%s", id,
      all         ? "lock_all"
      : exclusive ? "lock exclusive"
      : assertion ? "lock shared nocheck"
                  : "lock shared",
      target, second >= 0 ? " and the next" : "");
  for (int i = 0; i < operations; ++i) {
    operation(rank, id, targets, reading_ && random_.chance(85), false);
    if (random_.chance(30)) completion_event(rank, id);
  }
  reading_ = false;
  if (!on_.late_wait || random_.chance(60)) wait_requests(rank, true);
  emit(
      rank,
      [=](World& world) {
        MPI_Win win = world.windows[static_cast<std::size_t>(id)].win;
        if (all)
          MPI_Win_unlock_all(win);
        else
          MPI_Win_unlock(target, win);
      },
      "w%d: unlock %d", id, all ? -1 : target);
  complete(rank, id, all ? -1 : target, true);
  if (second >= 0) {
    emit(
        rank,
        [=](World& world) {
          MPI_Win_unlock(second, world.windows[static_cast<std::size_t>(id)].win);
        },
        "w%d: unlock %d", id, second);
    complete(rank, id, second, true);
  }
}

void Generator::completion_event(int rank, int id) {
  const int roll = random_.below(100);
  if (roll < 30) {
    wait_requests(rank, random_.chance(50));
    return;
  }
  const bool remote = roll < 75 || !on_.flush_local;
  int target = -1;
  const auto& own = outstanding_[static_cast<std::size_t>(rank)];
  std::vector<int> candidates;
  for (const Outstanding& o : own) {
    if (o.window == id && !(o.local && o.remote)) candidates.push_back(o.target);
  }
  if (!random_.chance(35)) target = candidates.empty() ? -2 : random_.pick(candidates);
  if (target == -2) return;
  emit(
      rank,
      [=](World& world) {
        MPI_Win win = world.windows[static_cast<std::size_t>(id)].win;
        if (target < 0)
          remote ? MPI_Win_flush_all(win) : MPI_Win_flush_local_all(win);
        else
          remote ? MPI_Win_flush(target, win) : MPI_Win_flush_local(target, win);
      },
      "w%d: flush%s%s %d", id, remote ? "" : "_local", target < 0 ? "_all" : "", target);
  complete(rank, id, target, remote);
}

void Generator::complete(int rank, int id, int target, bool remote) {
  for (Outstanding& o : outstanding_[static_cast<std::size_t>(rank)]) {
    if (o.window != id || (target >= 0 && o.target != target)) continue;
    if (!o.local) local_done(o);
    if (remote && !o.remote) remote_done(o, rank);
  }
  sweep(rank);
}

void Generator::flush_all(int rank, int id, const std::string& who) {
  emit(
      rank,
      [id](World& world) { MPI_Win_flush_all(world.windows[static_cast<std::size_t>(id)].win); },
      "%s: flush_all", who.c_str());
  complete(rank, id, -1, true);
}

void Generator::local_done(Outstanding& o) {
  o.local = true;
  if (o.get) o.remote = true;
  if (o.expectation != nullptr && !threaded_ && random_.chance(15)) {
    unchecked_[static_cast<std::size_t>(o.rank)].push_back(o);
  } else {
    check(o);
  }
}

void Generator::remote_done(Outstanding& o, int knower) {
  o.remote = true;
  if (o.get || o.blocks.empty()) return;
  complete_write(windows_[static_cast<std::size_t>(o.window)]->memory(o.target), o.blocks, o.rank,
                 knower);
}

/// The user looks at the buffer (if the outcome is known) and then overwrites it.
void Generator::check(const Outstanding& o) {
  if (o.slot < 0) return;
  const int slot = o.slot;
  emit(
      o.rank,
      [slot, expectation = o.expectation](World& world) {
        if (expectation != nullptr) expectation->check(world, world.slot(slot));
        std::memset(world.slot(slot), 0xEE, 512);
      },
      "op %d: %s slot %d", o.operation, o.expectation != nullptr ? "check and reuse" : "reuse",
      slot);
  give_slot(o.rank, slot);
}

void Generator::late_checks(int rank) {
  for (const Outstanding& o : unchecked_[static_cast<std::size_t>(rank)]) check(o);
  unchecked_[static_cast<std::size_t>(rank)].clear();
}

void Generator::sweep(int rank) {
  auto& own = outstanding_[static_cast<std::size_t>(rank)];
  own.erase(std::remove_if(own.begin(), own.end(),
                           [](const Outstanding& o) { return o.local && o.remote && o.waited; }),
            own.end());
}

void Generator::wait_requests(int rank, bool all) {
  std::vector<Outstanding*> waiting;
  for (Outstanding& o : outstanding_[static_cast<std::size_t>(rank)]) {
    if (o.request >= 0 && !o.waited && (all || random_.chance(50))) waiting.push_back(&o);
  }
  if (waiting.empty()) return;
  std::vector<int> ids;
  for (Outstanding* o : waiting) ids.push_back(o->request);
  const int form = random_.below(7);
  emit(
      rank,
      [ids, form](World& world) {
        std::vector<MPI_Request> list;
        for (int id : ids) list.push_back(world.requests[static_cast<std::size_t>(id)]);
        const int n = static_cast<int>(list.size());
        std::vector<int> indices(list.size());
        int done = 0;
        int flag = 0;
        // Null requests and empty arrays, which tell nothing; and questions before the wait.
        const int variant = (ids[0] + form) % 4;
        if (variant == 1) {
          MPI_Request none[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
          MPI_Wait(none, MPI_STATUS_IGNORE);
          MPI_Waitall(2, none, MPI_STATUSES_IGNORE);
          MPI_Testany(0, none, &done, &flag, MPI_STATUS_IGNORE);
        } else if (variant == 2) {
          for (MPI_Request request : list) {
            for (flag = 0; !flag;) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
          }
        }
        flag = done = 0;
        switch (form) {
          case 0:
            for (MPI_Request& request : list) MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
          case 1:
            for (MPI_Request& request : list) {
              for (flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            }
            break;
          case 2:
            MPI_Waitall(n, list.data(), MPI_STATUSES_IGNORE);
            break;
          case 3:
            for (int left = n; left > 0; --left)
              MPI_Waitany(n, list.data(), &done, MPI_STATUS_IGNORE);
            break;
          case 4:
            for (int left = n; left > 0; left -= done)
              MPI_Waitsome(n, list.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
            break;
          case 5:
            for (int left = n; left > 0; left -= done)
              MPI_Testsome(n, list.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
            break;
          case 6:
            while (!flag) MPI_Testall(n, list.data(), &flag, MPI_STATUSES_IGNORE);
            break;
        }
        for (int id : ids) world.requests[static_cast<std::size_t>(id)] = MPI_REQUEST_NULL;
      },
      "wait for %zu requests from %d, form %d", ids.size(), ids[0], form);
  for (Outstanding* o : waiting) {
    o->waited = true;
    if (!o->local) local_done(*o);
    // The result of a fetching accumulate arrives with the same request.
    for (Outstanding& other : outstanding_[static_cast<std::size_t>(rank)]) {
      if (other.operation == o->operation && !other.local) local_done(other);
    }
  }
  sweep(rank);
}

}  // namespace fuzz
