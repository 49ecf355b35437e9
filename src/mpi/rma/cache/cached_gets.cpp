#include "mpi/rma/cache/cached_gets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/rma/cache/node_log.hpp"
#include "mpi/rma/cache/tracing.hpp"
#include "mpi/rma/window.hpp"

namespace hob::mpi {
namespace {

/// Failed comparisons kept with their place; the others are only counted.
constexpr std::size_t kMaxFailures = 100;

/// Gets measured before a target may be called as fast as a hit.
constexpr std::uint32_t kSamples = 8;

/// A target is left alone if its get and flush take less than this many hits: below, what a hit
/// saves does not pay for the misses.
constexpr std::uint64_t kWorthwhile = 6;

/// Bytes of a pending entry whose cache lines are fetched ahead.
constexpr std::uint64_t kPrefetched = 65536;

/// A hit's way through the wrappers and the window, besides look-up and copy.
constexpr double kWrapperNanoseconds = 25;

/// What look-up and copy take on this machine, measured once.
struct HitCost {
  double ticks = 0;
  double ticks_per_byte = 0;

  std::uint64_t of(std::uint64_t bytes) const {
    return static_cast<std::uint64_t>(ticks + ticks_per_byte * static_cast<double>(bytes));
  }
};

const HitCost& hit_cost() {
  static const HitCost cost = [] {
    constexpr std::uint32_t kEntries = 64;
    constexpr std::uint64_t kSmall = 64, kLarge = 4096;
    static std::byte bytes[kLarge];
    HitCost result{kWrapperNanoseconds * ticks_per_nanosecond(), 0.1};
    auto probe = cache::Cache::create({});
    if (!probe) return result;
    for (std::uint32_t i = 0; i < kEntries; ++i) {
      const cache::Key key{0, i * kLarge, 0};
      probe->find(key, kLarge);
      if (const auto place = probe->reserve(key, kLarge); place.entry)
        probe->fill(place.entry, bytes, kLarge);
    }
    const auto best = [&](std::uint64_t size) {
      std::uint64_t least = ~std::uint64_t{0};
      for (int round = 0; round < 8; ++round) {
        const std::uint64_t start = ticks();
        for (std::uint32_t i = 0; i < kEntries; ++i) {
          const cache::Lookup hit = probe->find({0, i * kLarge, 0}, size);
          if (hit.data) std::memcpy(bytes, hit.data, size);
          asm volatile("" : : "r"(bytes) : "memory");
        }
        least = std::min(least, (ticks() - start) / kEntries);
      }
      return static_cast<double>(least);
    };
    const double small = best(kSmall);
    result.ticks += small;
    result.ticks_per_byte =
        std::max(0.0, best(kLarge) - small) / static_cast<double>(kLarge - kSmall);
    return result;
  }();
  return cost;
}

/// The last get and write issued before this thread's flush, between before_flush and after_flush.
/// What another thread issues meanwhile is younger: this flush may not complete it.
struct Flushing {
  std::uint32_t get = 0;
  std::uint64_t write = 0;
  bool local = false;
};
thread_local Flushing flushing;

/// One block at buffer + low, whatever the count.
bool one_block(const Layout& layout, MPI_Count count) {
  return layout.dense || (count == 1 && layout.blocks.size() == 1);
}

}  // namespace

const char* name_of(Mode mode) {
  constexpr const char* names[] = {"auto", "strict", "always", "user", "off"};
  return names[static_cast<int>(mode)];
}

/// A request for a get that was served: complete from the start.
class ServedRequest final : public Operation {
 public:
  bool ready() override { return true; }
  int result(MPI_Status* status) override {
    requests::copy_status(requests::empty_status(), status);
    return MPI_SUCCESS;
  }
  void retire() override { delete this; }
  void abandon() override { delete this; }
  bool tells() const override { return false; }
};

class CachedGets::RequestWatch final : public CompletionObserver {
 public:
  explicit RequestWatch(CachedGets& owner) : owner_(&owner) {}

  void watch(MPI_Request request, std::uint64_t cookie) {
    users_.fetch_add(1, std::memory_order_relaxed);
    try {
      requests::watch(request, *this, cookie);
    } catch (const std::bad_alloc&) {
      completed(cookie, true);
    }
  }

  void completed(std::uint64_t cookie, bool freed) override {
    {
      const std::lock_guard guard(lock_);
      if (owner_) owner_->request_completed(cookie, freed);
    }
    leave();
  }

  bool tells() const override { return false; }

  /// The window is gone.
  void end() {
    {
      const std::lock_guard guard(lock_);
      owner_ = nullptr;
    }
    leave();
  }

 private:
  void leave() {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  Spin lock_;
  CachedGets* owner_;
  std::atomic<std::int64_t> users_{1};  ///< the window, and requests that are watched
};

CachedGets::CachedGets(Window& window, const Options& options, std::unique_ptr<cache::Cache> cache,
                       std::unique_ptr<DisplacementUnits> units)
    : window_(window),
      options_(options),
      mode_(options.mode),
      cache_(std::move(cache)),
      units_(std::move(units)),
      learned_(acquires.load(std::memory_order_relaxed)),
      poll_ticks_(static_cast<std::uint64_t>(options.poll_nanoseconds * ticks_per_nanosecond())),
      progress_ticks_(
          static_cast<std::uint64_t>(options.progress_nanoseconds * ticks_per_nanosecond())),
      last_mpi_(ticks()),
      watch_(new RequestWatch(*this)) {
  hit_cost();
  cached_windows.fetch_add(1, std::memory_order_relaxed);
}

CachedGets::~CachedGets() {
  cached_windows.fetch_sub(1, std::memory_order_relaxed);
  watch_->end();
  if (awake_) rest();
}

void CachedGets::share(std::unique_ptr<NodeLog> node_log) { node_log_ = std::move(node_log); }

/// From the first get on that may be kept, Hob must see what the process learns and writes. What it
/// did before was not seen.
void CachedGets::wake_up() {
  awake_ = true;
  wake();
  slept_ = true;
  ++writes_;
  for (auto& [_, t] : targets_) t.written = writes_;
}

/// Lets Hob sleep again, when nothing of this window is under way and nothing will be looked up.
void CachedGets::leave_alone() {
  if (!context().one_node || many_threads || tracing) return;
  for (const auto& [_, t] : targets_)
    if (!t.pending.empty() || t.completing != 0 || completing_all_ != 0) return;
  left_alone_ = true;
  awake_ = false;
  rest();
  cache_->drop_all();
}

CachedGets::Target& CachedGets::target(int rank) {
  if (HOB_LIKELY(rank == last_rank_)) return *last_target_;
  try {
    const auto [place, added] = targets_.try_emplace(rank);
    Target& t = place->second;
    if (added && slept_) t.written = ++writes_;
    if (added && node_log_) t.near = node_log_->near(rank);
    last_rank_ = rank;
    last_target_ = &t;
    return t;
  } catch (const std::bad_alloc&) {
    spare_.bypass = true;
    slept_ = true;  // its writes are not noted where they would be looked for later
    return spare_;
  }
}

/// Null: there is no memory for it.
const Layout* CachedGets::layout_or_none(MPI_Datatype type) {
  try {
    return &layout_of(type);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

/// What the process learned since the last look ends the life of what was fetched before.
void CachedGets::learn() {
  if (mode_ == Mode::always || mode_ == Mode::user) return;
  const std::uint64_t now = acquires.load(std::memory_order_relaxed);
  if (HOB_LIKELY(now == learned_)) return;
  learned_ = now;
  drop_everything();
}

void CachedGets::drop_everything() {
  cache_->drop_all();
  doubt_all();
  ++stats_.invalidations;
  if (HOB_UNLIKELY(tracing)) record({.kind = report::TraceKind::drop_all});
}

void CachedGets::record(report::TraceRecord what) {
  what.window = static_cast<std::uint16_t>(window_.id);
  trace(what);
}

int CachedGets::native(const Get& get, Target& t) {
  ++t.gets;
  ++stats_.native_gets;
  if (get.atomic) {
    const int result = window_.route->get_accumulate(
        nullptr, 0, get.target_type, get.buffer, get.count, get.type, get.target, get.disp,
        get.target_count, get.target_type, MPI_NO_OP, nullptr);
    // What an atomic read returns may tell that other memory was written too.
    if (mode_ != Mode::always && !options_.atomic_reads_are_gets && get.target >= 0)
      window_.atomic_results.add(get.target);
    return result;
  }
  return window_.route->get(get.buffer, get.count, get.type, get.target, get.disp, get.target_count,
                            get.target_type, nullptr);
}

/// Decides whether a get may be looked up at all, and by which key.
CachedGets::Wanted CachedGets::want(const Get& get, Target& t) {
  if (t.bypass || left_alone_) {
    // Whatever is true of one target of a node is true of the others.
    if (++stats_.bypassed % 16 == 0 && awake_) leave_alone();
    return {};
  }
  if (HOB_UNLIKELY(!awake_)) wake_up();
  const Layout* const there = layout_or_none(get.target_type);
  const Layout* const here = get.type == get.target_type ? there : layout_or_none(get.type);
  if (HOB_UNLIKELY(!there || !here || mode_ == Mode::off)) {
    ++stats_.uncacheable;
    return {};
  }
  const Layout& remote = *there;
  const Layout& origin = *here;
  const std::uint64_t size = remote.size * static_cast<std::uint64_t>(get.target_count);
  const bool plain = remote.usable && origin.usable && get.count >= 0 && get.target_count >= 0 &&
                     size == origin.size * static_cast<std::uint64_t>(get.count) && size != 0 &&
                     (remote.extent >= 0 || get.target_count == 1) && get.target != window_.rank;
  if (HOB_UNLIKELY(!plain ||
                   (get.atomic && mode_ == Mode::automatic && !options_.atomic_reads_are_gets))) {
    ++stats_.uncacheable;
    return {};
  }
  learn();
  const bool contiguous = one_block(remote, get.target_count);
  const cache::Key key{
      static_cast<std::uint32_t>(get.target),
      static_cast<std::uint64_t>(static_cast<std::int64_t>(get.disp) * units_->of(get.target) +
                                 remote.low),
      contiguous ? 0 : remote.id};
  if (HOB_UNLIKELY(tracing))
    record({.target = key.target,
            .displacement = key.displacement,
            .size = size,
            .layout = key.layout,
            .extent = static_cast<std::uint64_t>(remote.highest(get.target_count) - remote.low)});
  return {&remote, &origin, key, size, contiguous};
}

int CachedGets::get(const Get& get) {
  const std::lock_guard guard(lock_);
  ++stats_.gets;
  if (HOB_UNLIKELY(get.target < 0 || get.target >= window_.size)) {  // MPI_PROC_NULL, or an error
    Target nowhere;
    return native(get, nowhere);
  }
  Target& t = target(get.target);
  const Wanted wanted = want(get, t);
  if (!wanted.remote) return native(get, t);
  const cache::Lookup hit = cache_->find(wanted.key, wanted.size);
  switch (hit.kind) {
    case cache::Hit::full:
      return serve(get, t, wanted, hit);
    case cache::Hit::pending_full: {
      const auto index = static_cast<std::size_t>(hit.cookie);
      if (index < pending_.size() && pending_[index].entry == hit.entry &&
          pending_[index].purpose == Purpose::fetch) {
        try {
          wait_for(get, pending_[index], wanted, hit);
          ++t.hits;
          return MPI_SUCCESS;
        } catch (const std::bad_alloc&) {
        }
      }
      return issue(get, t, wanted, false);
    }
    case cache::Hit::partial:
      if (t.writing()) return issue(get, t, wanted, false);
      if (wanted.contiguous && one_block(*wanted.origin, get.count) && !get.atomic)
        return fetch_tail(get, t, wanted, hit);
      cache_->drop(hit.entry);
      return issue(get, t, wanted, true);
    case cache::Hit::pending_partial:
      return issue(get, t, wanted, false);
    case cache::Hit::missing:
      int result = MPI_SUCCESS;
      if (HOB_UNLIKELY(node_log_ != nullptr) && serve_shared(get, t, wanted, result)) return result;
      break;
  }
  return issue(get, t, wanted, !t.writing());
}

int CachedGets::rget(const Get& get, MPI_Request* request) {
  std::uint64_t cookie = 0;
  int result = MPI_SUCCESS;
  {
    const std::lock_guard guard(lock_);
    ++stats_.gets;
    const bool somewhere = get.target >= 0 && get.target < window_.size;
    Target nowhere;
    Target& t = somewhere ? target(get.target) : nowhere;
    const Wanted wanted = somewhere ? want(get, t) : Wanted{};
    const cache::Lookup hit =
        wanted.remote ? cache_->find(wanted.key, wanted.size) : cache::Lookup{};
    // Polling by request needs no flush, which is where a copy ends in mode strict.
    const bool again = hit.kind == cache::Hit::full &&
                       (mode_ == Mode::automatic || mode_ == Mode::strict) && due(hit, ticks());
    if (wanted.remote && hit.kind == cache::Hit::full && !again) {
      std::unique_ptr<ServedRequest> served(new (std::nothrow) ServedRequest);
      const std::uint64_t before = stats_.native_gets;
      result = serve(get, t, wanted, hit);
      // A refetch or a comparison is under way: its buffer must stay until the flush, so the
      // request is the library's.
      if (served && result == MPI_SUCCESS && stats_.native_gets == before) {
        try {
          *request = requests::add(*served);
          static_cast<void>(served.release());
          return MPI_SUCCESS;
        } catch (const std::bad_alloc&) {
          // The library's own request, then, for the same bytes once more.
        }
      }
    }
    ++t.gets;
    ++stats_.native_gets;
    result = window_.route->get(get.buffer, get.count, get.type, get.target, get.disp,
                                get.target_count, get.target_type, request);
    if (result != MPI_SUCCESS || !wanted.remote ||
        (!again && (hit.kind != cache::Hit::missing || t.writing())))
      return result;
    try {
      const std::uint64_t now = ticks();
      const auto index = add_pending(t, {.buffer = get.buffer,
                                         .layout = wanted.origin,
                                         .bytes = wanted.size,
                                         .when = now,
                                         .purpose = again ? Purpose::refetch : Purpose::requested});
      if (again) {
        ++stats_.refetches;
        last_refetch_ = now;
        pending_[index].entry = hit.entry;
        pending_[index].offset = hit.offset;
      } else {
        pending_[index].entry =
            cache_->reserve(wanted.key, wanted.size, fetch_of(get, wanted, index)).entry;
      }
      cookie = (std::uint64_t{pending_[index].birth} << 32) | index;
    } catch (const std::bad_alloc&) {
      return result;
    }
  }
  // Without the lock: the request layer may call back at once.
  watch_->watch(*request, cookie);
  return result;
}

void CachedGets::request_completed(std::uint64_t cookie, bool freed) {
  const std::lock_guard guard(lock_);
  const auto index = static_cast<std::uint32_t>(cookie);
  if (index >= pending_.size()) return;
  Pending& pending = pending_[index];
  const bool awaited = pending.purpose == Purpose::requested || pending.purpose == Purpose::refetch;
  if (pending.birth != cookie >> 32 || !awaited) return;  // flushed before
  learn();
  if (freed)  // nobody knows any more until when the buffer is left alone
    pending.purpose == Purpose::refetch ? cache_->drop(pending.entry)
                                        : cache_->abandon(pending.entry);
  else
    finish(pending);
  // A program may never flush: the slot is free now.
  std::vector<std::uint32_t>& list = targets_[pending.rank].pending;
  list[pending.place] = list.back();
  pending_[list.back()].place = pending.place;
  list.pop_back();
  pending = {};
  free_pending_.push_back(index);
}

cache::Fetch CachedGets::fetch_of(const Get& get, const Wanted& wanted, std::uint32_t index) {
  const Layout& remote = *wanted.remote;
  return {.extent = static_cast<std::uint64_t>(remote.highest(get.target_count) - remote.low),
          .cookie = index};
}

/// Whether a hit should be fetched again, in case the program polls it.
bool CachedGets::due(const cache::Lookup& hit, std::uint64_t now) const {
  // The comparison spares nearly every hit the division.
  const bool polled =
      hit.consecutive >= options_.poll_hits && hit.consecutive % options_.poll_hits == 0;
  return polled || (now - hit.fetched > poll_ticks_ && now - last_refetch_ > refetch_pause_ticks_);
}

int CachedGets::serve(const Get& get, Target& t, const Wanted& wanted, const cache::Lookup& hit) {
  const Layout& origin = *wanted.origin;
  const std::uint64_t size = wanted.size;
  const std::uint64_t now = ticks();
  if (mode_ == Mode::automatic) {
    if (HOB_UNLIKELY(due(hit, now))) {
      last_refetch_ = now;
      return refetch(get, t,
                     {.entry = hit.entry, .layout = &origin, .bytes = size, .offset = hit.offset});
    }
  }
  if (HOB_LIKELY(origin.dense))
    std::memcpy(static_cast<std::byte*>(get.buffer) + origin.low, hit.data, size);
  else
    unpack(origin, get.buffer, hit.data, size);
  ++t.hits;
  if (HOB_UNLIKELY(options_.verify > 0)) verify_hit(get, t, size, hit, wanted.key);
  if (HOB_UNLIKELY(now - last_mpi_ > progress_ticks_) && progress_ticks_ != 0) poke();
  return MPI_SUCCESS;
}

/// A process that lives on hits never enters the MPI library, and many libraries let others'
/// operations on it advance only there.
void CachedGets::poke() {
  int flag = 0;
  if (HOB_LIKELY(context().world))
    real::Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  else
    requests::poke_library();
  last_mpi_ = ticks();
  ++stats_.pokes;
}

/// `keep` is false where the bytes may be older than what this process wrote: a get that follows a
/// write not yet complete at the target may overtake it.
int CachedGets::issue(const Get& get, Target& t, const Wanted& wanted, bool keep) {
  const std::uint64_t start = HOB_UNLIKELY(t.samples < kSamples) ? ticks() : 0;
  const std::uint64_t issued = shares(get, t, wanted) ? node_log_->log.now() : 0;
  const int result = native(get, t);
  if (result != MPI_SUCCESS || !keep) return result;
  const std::uint64_t now = ticks();
  try {
    const auto index = add_pending(t, {.buffer = get.buffer,
                                       .layout = wanted.origin,
                                       .bytes = wanted.size,
                                       .issue_ticks = now - start,
                                       .when = now,
                                       .displacement = wanted.key.displacement,
                                       .issued = issued,
                                       .doubts = doubts_});
    const cache::EntryId entry =
        cache_->reserve(wanted.key, wanted.size, fetch_of(get, wanted, index)).entry;
    pending_[index].entry = entry;
    // The bytes are copied there when they have arrived: time to fetch its cache lines is now.
    if (const std::byte* place = entry ? cache_->writable(entry) : nullptr)
      for (std::uint64_t at = 0; at < std::min(wanted.size, kPrefetched); at += 64)
        __builtin_prefetch(place + at, 1, 2);
  } catch (const std::bad_alloc&) {
    // Not kept: the get itself is under way and will be complete at the flush.
  }
  return result;
}

int CachedGets::fetch_tail(const Get& get, Target& t, const Wanted& wanted,
                           const cache::Lookup& hit) {
  const cache::Key& key = wanted.key;
  const std::uint64_t size = wanted.size;
  const std::uint64_t tail = key.displacement + hit.available;
  const auto unit = static_cast<std::uint64_t>(units_->of(get.target));
  if (tail % unit != 0) {
    cache_->drop(hit.entry);
    return issue(get, t, wanted, true);
  }
  const Layout& origin = *wanted.origin;
  std::byte* buffer = static_cast<std::byte*>(get.buffer) + origin.low;
  const std::uint64_t missing = size - hit.available;
  std::memcpy(buffer, hit.data, hit.available);
  const Get rest{buffer + hit.available,
                 static_cast<MPI_Count>(missing),
                 MPI_BYTE,
                 get.target,
                 static_cast<MPI_Aint>(tail / unit),
                 static_cast<MPI_Count>(missing),
                 MPI_BYTE};
  const int result = native(rest, t);
  if (result != MPI_SUCCESS) return result;
  try {
    const auto index = add_pending(t, {.buffer = rest.buffer,
                                       .layout = &layout_of(MPI_BYTE),
                                       .bytes = missing,
                                       .offset = hit.available,
                                       .when = ticks(),
                                       .purpose = Purpose::tail});
    if (cache_->extend(hit.entry, size, {.extent = size, .cookie = index}))
      pending_[index].entry = hit.entry;
  } catch (const std::bad_alloc&) {
    // As in issue().
  }
  return result;
}

/// Fetches again what was served, straight into the program's buffer, to see whether it changed.
/// `pending` says what it was.
int CachedGets::refetch(const Get& get, Target& t, Pending pending) {
  ++stats_.refetches;
  const int result = native(get, t);
  if (result != MPI_SUCCESS) return result;
  refetch_issue_ticks_ = ticks() - last_refetch_;
  pending.buffer = get.buffer;
  pending.when = ticks();
  pending.purpose = Purpose::refetch;
  const cache::EntryId entry = pending.entry;
  try {
    add_pending(t, std::move(pending));
  } catch (const std::bad_alloc&) {
    cache_->drop(entry);
  }
  return result;
}

void CachedGets::verify_hit(const Get& get, Target& t, std::uint64_t size, const cache::Lookup& hit,
                            const cache::Key& key) {
  if (random_.fraction() >= options_.verify) return;
  try {
    std::unique_ptr<std::byte[]> bytes(new std::byte[2 * size]);
    std::memcpy(bytes.get() + size, hit.data, size);
    Get again = get;
    again.buffer = bytes.get();
    again.count = static_cast<MPI_Count>(size);
    again.type = MPI_BYTE;
    if (get.atomic || native(again, t) != MPI_SUCCESS) return;
    ++stats_.verified;
    add_pending(t, {.buffer = bytes.get(),
                    .layout = &layout_of(MPI_BYTE),
                    .bytes = size,
                    .purpose = Purpose::verify,
                    .displacement = key.displacement,
                    .served = std::move(bytes)});
  } catch (const std::bad_alloc&) {
    // One comparison fewer.
  }
}

void CachedGets::wait_for(const Get& get, Pending& pending, const Wanted& wanted,
                          const cache::Lookup& hit) {
  std::uint32_t index = 0;
  if (free_waiters_.empty()) {
    index = static_cast<std::uint32_t>(waiters_.size());
    waiters_.emplace_back();
    free_waiters_.reserve(waiters_.capacity());
  } else {
    index = free_waiters_.back();
    free_waiters_.pop_back();
  }
  waiters_[index] = {get.buffer, wanted.origin, wanted.size, hit.offset, pending.waiters};
  pending.waiters = index;
}

std::uint32_t CachedGets::add_pending(Target& t, Pending pending) {
  std::uint32_t index = 0;
  if (free_pending_.empty()) {
    pending_.emplace_back();
    index = static_cast<std::uint32_t>(pending_.size()) - 1;
    free_pending_.push_back(index);
    free_pending_.reserve(pending_.capacity());
  } else {
    index = free_pending_.back();
  }
  t.pending.push_back(index);
  free_pending_.pop_back();
  pending_[index] = std::move(pending);
  pending_[index].place = static_cast<std::uint32_t>(t.pending.size()) - 1;
  pending_[index].rank = last_rank_;
  pending_[index].birth = ++births_;
  return index;
}

void CachedGets::serve_waiters(Pending& pending, const std::byte* packed) {
  for (std::uint32_t i = pending.waiters; i != kNone;) {
    const Waiter& waiter = waiters_[i];
    unpack(*waiter.layout, waiter.buffer, packed + waiter.offset, waiter.bytes);
    free_waiters_.push_back(i);
    i = waiter.next;
  }
  pending.waiters = kNone;
}

/// The same from the program's buffer, a piece at a time: this cannot fail for want of memory.
void CachedGets::serve_waiters(Pending& pending) {
  std::byte piece[4096];
  for (std::uint32_t i = pending.waiters; i != kNone;) {
    const Waiter& waiter = waiters_[i];
    for (std::uint64_t at = 0; at < waiter.bytes; at += sizeof piece) {
      const std::uint64_t now = std::min<std::uint64_t>(sizeof piece, waiter.bytes - at);
      pack(*pending.layout, pending.buffer, piece, now, waiter.offset + at);
      unpack(*waiter.layout, waiter.buffer, piece, now, at);
    }
    free_waiters_.push_back(i);
    i = waiter.next;
  }
  pending.waiters = kNone;
}

/// The bytes of one get have arrived in the program's buffer.
void CachedGets::finish(Pending& pending) {
  const Layout& layout = *pending.layout;
  const bool whole = layout.dense || (layout.blocks.size() == 1 && pending.bytes == layout.size);
  const std::byte* packed = static_cast<std::byte*>(pending.buffer) + layout.low;
  switch (pending.purpose) {
    case Purpose::fetch:
    case Purpose::requested:
    case Purpose::tail:
      if (whole) {
        if (pending.entry)
          cache_->fill(pending.entry, packed, pending.bytes, pending.offset, pending.when);
        serve_waiters(pending, packed);
      } else if (std::byte* place = pending.entry ? cache_->writable(pending.entry) : nullptr) {
        pack(layout, pending.buffer, place, pending.bytes);
        serve_waiters(pending, place);
        cache_->complete(pending.entry, pending.when);
      } else {
        serve_waiters(pending);
      }
      break;
    case Purpose::refetch: {
      std::unique_ptr<std::byte[]> copy;
      if (!whole) {
        copy.reset(new (std::nothrow) std::byte[pending.bytes]);
        if (!copy) {
          cache_->drop(pending.entry);
          break;
        }
        pack(layout, pending.buffer, copy.get(), pending.bytes);
        packed = copy.get();
      }
      const bool changed =
          pending.served
              ? std::memcmp(pending.served.get(), packed, pending.bytes) != 0
              : cache_->refresh(pending.entry, packed, pending.bytes, pending.offset, pending.when);
      if (!changed) break;
      ++stats_.refetches_changed;
      note_acquire();
      mode_ = Mode::strict;
      mode_reason_ = fmt::format(
          "the program polls with plain gets: bytes of rank {} changed with nothing in between "
          "that could have told",
          pending.rank);
      break;
    }
    case Purpose::verify:
      if (std::memcmp(pending.served.get(), pending.served.get() + pending.bytes, pending.bytes) ==
          0)
        break;
      ++stats_.verify_failures;
      if (failures_.size() >= kMaxFailures) break;
      failures_.push_back(fmt::format(
          "verify: rank {} served {} stale bytes of window {}, rank {}, displacement {}",
          window_.rank, pending.bytes, window_.id, pending.rank, pending.displacement));
      break;
  }
}

/// Whether a get is one of those that ranks of a node share: of contiguous bytes on another node,
/// into contiguous ones. A mode may have changed since the window was made.
bool CachedGets::shares(const Get& get, const Target& t, const Wanted& wanted) const {
  return HOB_UNLIKELY(node_log_ != nullptr) && !t.near && wanted.contiguous && !get.atomic &&
         mode_ != Mode::strict && mode_ != Mode::off && one_block(*wanted.origin, get.count);
}

/// A get that is missing here, from what a rank of this node fetched: false if it must be issued.
/// The process's own cache does not take it: it would hold what the node has anyway, in place of
/// something else.
bool CachedGets::serve_shared(const Get& get, Target& t, const Wanted& wanted, int& result) {
  if (!shares(get, t, wanted) || t.writing() || t.floor == 0 || doubted(t, t.floor_doubts))
    return false;
  const cache::SharedLog& log = node_log_->log;
  const std::uint64_t issued = log.now();
  auto* buffer = static_cast<std::byte*>(get.buffer) + wanted.origin->low;
  std::uint64_t fetched = 0;
  if (!log.find(wanted.key, wanted.size, t.floor, buffer, fetched)) return false;
  const bool again = last_shared_ == wanted.key && last_shared_get_ + 1 == stats_.gets;
  last_shared_ = wanted.key;
  last_shared_get_ = stats_.gets;
  shared_in_a_row_ = again ? shared_in_a_row_ + 1 : 1;
  const std::uint64_t now = ticks();
  cache::Lookup found;
  found.consecutive = shared_in_a_row_;
  found.fetched = std::min(fetched, now);
  found.data = buffer;
  if (mode_ == Mode::automatic && HOB_UNLIKELY(due(found, now))) {
    last_refetch_ = now;
    result = check_shared(get, t, wanted, issued);
    return true;
  }
  ++t.hits;
  ++stats_.shared_hits;
  stats_.shared_bytes += wanted.size;
  if (HOB_UNLIKELY(options_.verify > 0)) verify_hit(get, t, wanted.size, found, wanted.key);
  if (HOB_UNLIKELY(now - last_mpi_ > progress_ticks_) && progress_ticks_ != 0) poke();
  return true;
}

/// Fetches again what the node's log had. The program's buffer has it.
int CachedGets::check_shared(const Get& get, Target& t, const Wanted& wanted,
                             std::uint64_t issued) {
  const auto* buffer = static_cast<std::byte*>(get.buffer) + wanted.origin->low;
  std::unique_ptr<std::byte[]> had(new (std::nothrow) std::byte[wanted.size]);
  if (!had) return issue(get, t, wanted, true);
  std::memcpy(had.get(), buffer, wanted.size);
  return refetch(get, t,
                 {.layout = wanted.origin,
                  .bytes = wanted.size,
                  .displacement = wanted.key.displacement,
                  .served = std::move(had),
                  .issued = issued,
                  .doubts = doubts_});
}

/// A get is complete that ranks of this node may use. It has also shown that this process was let
/// in, where it had been told of a lock or an exposure that the library had yet to get: from here
/// on, it may use what others fetch.
void CachedGets::put_into_log(Target& t, const Pending& pending) {
  if (doubted(t, pending.doubts)) return;
  cache::SharedLog& log = node_log_->log;
  if (t.floor == 0 || doubted(t, t.floor_doubts)) {
    t.floor = log.advance();
    t.floor_doubts = pending.doubts;
  }
  const cache::Key key{static_cast<std::uint32_t>(pending.rank), pending.displacement, 0};
  const auto* bytes = static_cast<std::byte*>(pending.buffer) + pending.layout->low;
  if (log.insert(key, bytes, pending.bytes, pending.issued, pending.when)) ++stats_.shared_inserts;
}

/// The gets to a target up to the one numbered `last` are complete. Whoever finds that out first
/// finishes them all, other threads' too: their flush may return before this thread's does, and
/// they may then reuse the buffers.
void CachedGets::complete(Target& t, std::uint32_t last, bool succeeded) {
  std::vector<std::uint32_t>& list = t.pending;
  if (list.empty()) return;
  learn();
  std::size_t kept = 0;
  for (const std::uint32_t index : list) {
    if (static_cast<std::int32_t>(pending_[index].birth - last) > 0) {
      pending_[index].place = static_cast<std::uint32_t>(kept);
      list[kept++] = index;
      continue;
    }
    if (pending_[index].issued != 0 && succeeded) put_into_log(t, pending_[index]);
    finish(pending_[index]);
    pending_[index] = {};
    free_pending_.push_back(index);
  }
  list.resize(kept);
}

/// Learns how fast the target's own gets are: one get, one flush, nothing else in between.
void CachedGets::measure(Target& t, const Pending& pending, std::uint64_t flush_ticks) {
  const std::uint64_t spent = pending.issue_ticks + flush_ticks;
  t.native_ticks = std::min(t.native_ticks, spent);
  if (spent < kWorthwhile * hit_cost().of(pending.bytes)) ++t.cheap_samples;
  if (++t.samples != kSamples) return;
  if (options_.bypass && t.cheap_samples >= kSamples / 2) t.bypass = true;
  pause_refetches(t.native_ticks);
}

/// As long as one that took `spent` may be followed by no other, to stay within the share of run
/// time that refetches may take.
void CachedGets::pause_refetches(std::uint64_t spent) {
  refetch_pause_ticks_ =
      options_.poll_share > 0
          ? static_cast<std::uint64_t>(static_cast<double>(spent) / options_.poll_share)
          : ~std::uint64_t{0};
}

bool CachedGets::before_flush(int rank, bool& local) {
  const std::lock_guard guard(lock_);
  ++stats_.flushes;
  const auto idle = [this](const Target& t) {
    return t.gets == 0 && !t.writing() && t.completing == 0 && completing_all_ == 0;
  };
  const auto leave = [&](Target& t) {
    if (!t.pending.empty()) local = false;
    t.gets = 0;
    t.hits = 0;
  };
  if (rank >= 0) {
    Target& t = target(rank);
    if (HOB_LIKELY(t.hits != 0 && idle(t))) {
      t.hits = 0;
      ++stats_.flushes_skipped;
      if (mode_ == Mode::strict) strict_end();
      return false;
    }
    if (t.samples < kSamples || refetch_issue_ticks_ != 0) flush_started_ = ticks();
    ++t.completing;
    leave(t);
    flushing = {births_, writes_, local};
    return true;
  }
  bool all_idle = !slept_;
  std::uint64_t hits = 0;
  for (auto& [_, t] : targets_) {
    all_idle = all_idle && idle(t);
    hits += t.hits;
  }
  if (all_idle && hits != 0) {
    for (auto& [_, t] : targets_) t.hits = 0;
    ++stats_.flushes_skipped;
    if (mode_ == Mode::strict) strict_end();
    return false;
  }
  ++completing_all_;
  for (auto& [_, t] : targets_) leave(t);
  leave(spare_);
  flushing = {births_, writes_, local};
  return true;
}

void CachedGets::after_flush(int rank, bool succeeded) {
  const std::lock_guard guard(lock_);
  last_mpi_ = ticks();
  const auto settle = [](Target& t) {
    if (!flushing.local) t.settled = std::max(t.settled, flushing.write);
  };
  if (rank >= 0) {
    Target& t = target(rank);
    if (HOB_UNLIKELY(t.samples < kSamples) && t.pending.size() == 1 && !many_threads &&
        pending_[t.pending[0]].purpose == Purpose::fetch)
      measure(t, pending_[t.pending[0]], last_mpi_ - flush_started_);
    if (HOB_UNLIKELY(refetch_issue_ticks_ != 0)) {
      // A busy target answers later than the fastest get seen says.
      if (!many_threads) pause_refetches(refetch_issue_ticks_ + last_mpi_ - flush_started_);
      refetch_issue_ticks_ = 0;
    }
    --t.completing;
    settle(t);
    complete(t, flushing.get, succeeded);
  } else {
    --completing_all_;
    for (auto& [_, t] : targets_) {
      settle(t);
      complete(t, flushing.get, succeeded);
    }
    settle(spare_);
    if (!flushing.local) slept_ = false;
  }
  if (HOB_UNLIKELY(!succeeded)) drop_everything();
  if (mode_ == Mode::strict) strict_end();
}

void CachedGets::epoch_closed(int rank, bool succeeded) {
  const std::lock_guard guard(lock_);
  const auto close = [&](Target& t) {
    complete(t, births_, succeeded);
    t.gets = t.hits = 0;
    t.settled = writes_;
  };
  if (rank >= 0)
    close(target(rank));
  else {
    for (auto& [_, t] : targets_) close(t);
    close(spare_);
    slept_ = false;
  }
  if (HOB_UNLIKELY(!succeeded)) drop_everything();
  if (mode_ == Mode::strict) strict_end();
}

/// Mode strict, the paper's transparent one: nothing outlives the closure of an epoch.
void CachedGets::strict_end() {
  if (cache_->entries() != 0) drop_everything();
}

void CachedGets::own_write(int rank, MPI_Aint disp, MPI_Count count, MPI_Datatype type,
                           bool issued) {
  const std::lock_guard guard(lock_);
  if (rank < 0 || rank >= window_.size) return;
  Target& t = target(rank);
  t.written = ++writes_;
  doubt(t);
  if (count <= 0 || cache_->entries() == 0) return;
  const Layout* const known = layout_or_none(type);
  if (!issued) ++stats_.own_writes;
  if (!known || !known->usable) {
    cache_->drop_target(static_cast<std::uint32_t>(rank));
    return;
  }
  const Layout& layout = *known;
  const auto first = static_cast<std::uint64_t>(static_cast<std::int64_t>(disp) * units_->of(rank) +
                                                layout.lowest(count));
  const auto length = static_cast<std::uint64_t>(layout.highest(count) - layout.lowest(count));
  cache_->drop_range(static_cast<std::uint32_t>(rank), first, length);
  if (HOB_UNLIKELY(tracing))
    record({.kind = report::TraceKind::drop_range,
            .target = static_cast<std::uint32_t>(rank),
            .displacement = first,
            .size = length});
}

void CachedGets::note_write(int rank) {
  const std::lock_guard guard(lock_);
  if (rank < 0 || rank >= window_.size) return;
  Target& t = target(rank);
  t.written = ++writes_;
  doubt(t);
}

void CachedGets::drop_all() {
  const std::lock_guard guard(lock_);
  drop_everything();
}

void CachedGets::drop_target(int rank) {
  const std::lock_guard guard(lock_);
  cache_->drop_target(static_cast<std::uint32_t>(rank));
  doubt(target(rank));
  ++stats_.invalidations;
  if (HOB_UNLIKELY(tracing))
    record({.kind = report::TraceKind::drop_target, .target = static_cast<std::uint32_t>(rank)});
}

void CachedGets::set_mode(Mode mode, std::string reason) {
  const std::lock_guard guard(lock_);
  mode_ = mode;
  mode_reason_ = std::move(reason);
  cache_->drop_all();
  doubt_all();
}

std::uint64_t CachedGets::memory_bytes() const {
  return cache_->memory_bytes() + pending_.capacity() * sizeof(Pending) +
         waiters_.capacity() * sizeof(Waiter) + targets_.size() * (sizeof(Target) + 64) +
         units_->memory_bytes();
}

}  // namespace hob::mpi
