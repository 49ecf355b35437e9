#include "match/flat/flat_queue.hpp"

#include <algorithm>

#include "match/strategies.hpp"

namespace hob::match::flat {

namespace {

/// The bits of a key's place that count, by its wildcards.
constexpr std::uint64_t compared[4] = {~std::uint64_t{0}, 0xffffffff, ~std::uint64_t{0xffffffff},
                                       0};

}  // namespace

/// The oldest slot of a short queue that fits, or none.
template <Side side>
[[gnu::always_inline]] inline std::uint32_t FlatQueue<side>::search_short(Key with) const {
  const std::uint64_t of_all = side == Side::messages ? compared[wildcards_of(with)] : 0;
  std::uint32_t slot = first_;
  for (; slot != none; slot = slots_[slot].next) {
    const Slot& there = slots_[slot];
    const std::uint64_t bits = side == Side::receives ? compared[there.sequence] : of_all;
    if ((((there.place ^ with.place) & bits) | (there.context ^ with.context)) == 0) break;
  }
  return slot;
}

/// The oldest entry of a deep queue with this key.
template <Side side>
[[gnu::always_inline]] inline typename FlatQueue<side>::Found FlatQueue<side>::search_exact(
    Key key) {
  std::uint64_t hash = hash_of(key);
  if (exact_.empty()) [[unlikely]] {
    return nothing;
  }
  return {exact_.find(slots_, key, hash), hash, 0};
}

/// The oldest receive with a wildcard that accepts this message, or none.
template <Side side>
[[gnu::always_inline]] inline std::uint32_t FlatQueue<side>::search_wild(Key with) {
  constexpr std::uint64_t source = std::uint64_t{static_cast<std::uint32_t>(any_source)} << 32;
  constexpr std::uint64_t tag = static_cast<std::uint32_t>(any_tag);
  std::uint32_t best = none;
  auto look_up = [&](Class wildcards, std::uint64_t place) {
    if (class_count_[wildcards] == 0) return;
    Key key{place, with.context};
    std::uint32_t slot = wild_.find(slots_, key, hash_of(key)).slot;
    if (slot == none) return;
    if (best == none || slots_[slot].sequence < slots_[best].sequence) best = slot;
  };
  look_up(1, source | with.tag());
  look_up(2, std::uint64_t{with.source()} << 32 | tag);
  look_up(3, source | tag);
  return best;
}

/// The oldest message that a receive with a wildcard takes, or none.
template <Side side>
std::uint32_t FlatQueue<side>::search_part(Key want, Class wildcards) {
  if (wildcards == 3) return parts_.find(slots_, PartIndex::by_context, want);
  return parts_.find(slots_, wildcards == 1 ? PartIndex::by_tag : PartIndex::by_source, want);
}

/// A new slot. Throws std::bad_alloc, changing nothing.
template <Side side>
[[gnu::always_inline]] inline std::uint32_t FlatQueue<side>::fill(Key key, void* item) {
  std::uint32_t slot = slots_.allocate();
  Slot& filled = slots_[slot];
  filled.item = item;
  filled.place = key.place;
  filled.context = key.context;
  ++count_;
  return slot;
}

template <Side side>
Handle FlatQueue<side>::append_short(Key key, void* item) {
  std::uint32_t slot = fill(key, item);
  slots_[slot].sequence = class_of(key);
  slots_[slot].next = none;
  slots_[slot].prev = last_;
  (last_ != none ? slots_[last_].next : first_) = slot;
  last_ = slot;
  return slot;
}

template <Side side>
[[gnu::always_inline]] inline void FlatQueue<side>::unlink_short(std::uint32_t slot) {
  std::uint32_t next = slots_[slot].next;
  std::uint32_t prev = slots_[slot].prev;
  (prev != none ? slots_[prev].next : first_) = next;
  (next != none ? slots_[next].prev : last_) = prev;
}

/// Makes room for one more entry in the indexes. Throws std::bad_alloc.
template <Side side>
[[gnu::always_inline]] inline void FlatQueue<side>::reserve_links(Class wildcards) {
  index_of(wildcards).reserve(slots_);
  if (next_sequence_ == none) [[unlikely]] {
    renumber();
  }
  if constexpr (side == Side::messages) {
    if (parts_.any()) parts_.reserve(slots_);
  }
}

/// Makes a slot that is filled in known to the indexes. After reserve_links().
template <Side side>
[[gnu::always_inline]] inline void FlatQueue<side>::link(std::uint32_t slot, Key key,
                                                         Class wildcards) {
  slots_[slot].sequence = next_sequence_++;
  index_of(wildcards).append(slots_, slot, key, hash_of(key));
  if constexpr (side == Side::receives) {
    if (wildcards != 0) count_wild(wildcards, 1);
  } else {
    if (parts_.any()) parts_.append(slot, slots_[slot].sequence);
  }
}

template <Side side>
Handle FlatQueue<side>::append_deep(Key key, void* item) {
  Class wildcards = class_of(key);
  reserve_links(wildcards);
  std::uint32_t slot = fill(key, item);
  link(slot, key, wildcards);
  return slot;
}

template <Side side>
[[gnu::always_inline]] inline Handle FlatQueue<side>::append(const Envelope& envelope, void* item) {
  Key key = Key::of(envelope);
  if (!deep_) {
    if (count_ < short_limit_ || stays_short(key)) return append_short(key, item);
    go_deep();
  }
  return append_deep(key, item);
}

/// Frees a slot that nothing leads to any more. Returns its item.
template <Side side>
[[gnu::always_inline]] inline void* FlatQueue<side>::release(std::uint32_t slot) {
  void* item = slots_[slot].item;
  slots_.release(slot);
  if (--count_ == 0) {
    slots_.reset();
    if (deep_) go_short();
  }
  return item;
}

template <Side side>
[[gnu::always_inline]] inline void* FlatQueue<side>::remove_deep(const Found& found) {
  index_of(found.wildcards).remove(slots_, found.cell, found.hash);
  if constexpr (side == Side::receives) {
    if (found.wildcards != 0) count_wild(found.wildcards, -1u);
  }
  return release(found.cell.slot);
}

template <Side side>
void* FlatQueue<side>::take_short(Key with) {
  std::uint32_t slot = search_short(with);
  if (slot == none) return nullptr;
  if (count_ == 1) {  // nothing to unlink it from
    first_ = last_ = none;
    count_ = 0;
    slots_.reset();
    return slots_[slot].item;
  }
  unlink_short(slot);
  return release(slot);
}

template <Side side>
void* FlatQueue<side>::take_deep(Key with) {
  if ((side == Side::receives ? wild_count_ : wildcards_of(with)) != 0) return take_wild(with);
  Found found = search_exact(with);
  return found.cell.slot == none ? nullptr : remove_deep(found);
}

/// As take_deep(), for a message that may go to a receive with a wildcard, or
/// such a receive.
template <Side side>
void* FlatQueue<side>::take_wild(Key with) {
  if constexpr (side == Side::receives) {
    std::uint32_t wild = search_wild(with);
    Found found = search_exact(with);
    if (wild != none &&
        (found.cell.slot == none || slots_[wild].sequence < slots_[found.cell.slot].sequence)) {
      return remove(wild);
    }
    return found.cell.slot == none ? nullptr : remove_deep(found);
  } else {
    if (back_to_short()) return take_short(with);
    std::uint32_t slot = search_part(with, wildcards_of(with));
    return slot == none ? nullptr : remove(slot);
  }
}

template <Side side>
[[gnu::always_inline]] inline void* FlatQueue<side>::take(const Envelope& with) {
  return deep_ ? take_deep(Key::of(with)) : take_short(Key::of(with));
}

template <Side side>
std::optional<QueueEntry> FlatQueue<side>::find(const Envelope& want) {
  Key key = Key::of(want);
  Class wildcards = wildcards_of(key);
  std::uint32_t slot = none;
  if (!deep_ || (wildcards != 0 && back_to_short())) {
    slot = search_short(key);
  } else {
    slot = wildcards != 0 ? search_part(key, wildcards) : search_exact(key).cell.slot;
  }
  if (slot == none) return std::nullopt;
  return entry(slot);
}

template <Side side>
void* FlatQueue<side>::remove(Handle handle) {
  auto slot = static_cast<std::uint32_t>(handle);
  if (!deep_) {
    unlink_short(slot);
    return release(slot);
  }
  Key key = slots_[slot].key();
  Class wildcards = class_of(key);
  std::uint64_t hash = hash_of(key);
  Found found{index_of(wildcards).find(slots_, key, hash), hash, wildcards};
  if (found.cell.slot == slot) return remove_deep(found);
  KeyIndex::unlink(slots_, slot);
  if constexpr (side == Side::receives) {
    if (wildcards != 0) count_wild(wildcards, -1u);
  }
  return release(slot);
}

template <Side side>
std::optional<QueueEntry> FlatQueue<side>::oldest(std::uint32_t context) const {
  std::uint32_t best = none;
  for (std::uint32_t slot = 0; deep_ && slot < slots_.used(); ++slot) {
    if (slots_[slot].sequence == 0 || slots_[slot].context != context) continue;
    if (best == none || slots_[slot].sequence < slots_[best].sequence) best = slot;
  }
  for (std::uint32_t slot = first_; !deep_ && slot != none && best == none;) {
    if (slots_[slot].context == context) best = slot;
    slot = slots_[slot].next;
  }
  if (best == none) return std::nullopt;
  return entry(best);
}

/// Calls use(slot) for all entries, in order.
template <Side side>
template <class Use>
void FlatQueue<side>::each_in_order(Use&& use) const {
  if (!deep_) {
    for (std::uint32_t slot = first_; slot != none; slot = slots_[slot].next) use(slot);
    return;
  }
  std::vector<std::uint32_t> live;
  live.reserve(count_);
  for (std::uint32_t slot = 0; slot < slots_.used(); ++slot) {
    if (slots_[slot].sequence != 0) live.push_back(slot);
  }
  std::sort(live.begin(), live.end(), [&](std::uint32_t a, std::uint32_t b) {
    return slots_[a].sequence < slots_[b].sequence;
  });
  for (std::uint32_t slot : live) use(slot);
}

template <Side side>
void FlatQueue<side>::collect(std::uint32_t context, std::vector<QueueEntry>& out) const {
  each_in_order([&](std::uint32_t slot) {
    if (slots_[slot].context == context) out.push_back(entry(slot));
  });
}

/// Whether a queue as long as `short_length` stays a list although `key` is
/// added.
template <Side side>
bool FlatQueue<side>::stays_short(Key key) {
  if (short_limit_ == short_with_wildcards) return false;
  Class wildcards = class_of(key);
  for (std::uint32_t slot = first_; slot != none; slot = slots_[slot].next) {
    wildcards |= class_of(slots_[slot].key());
  }
  if (wildcards != 0) short_limit_ = short_with_wildcards;
  return wildcards != 0;
}

/// A receive with a wildcard searches a deep queue of messages: makes it a list
/// again if it is short enough, and says so. Not where that would look at many
/// slots.
template <Side side>
bool FlatQueue<side>::back_to_short() {
  constexpr std::uint32_t most_slots = 64;
  short_limit_ = short_with_wildcards;
  if (count_ > short_with_wildcards || slots_.used() > most_slots) return false;
  std::uint32_t order[short_with_wildcards];
  std::uint32_t count = 0;
  each_in_order([&](std::uint32_t slot) { order[count++] = slot; });
  for (std::uint32_t i = 0; i < count; ++i) {
    Found found = search_exact(slots_[order[i]].key());  // finds this slot: it is its key's oldest
    exact_.remove(slots_, found.cell, found.hash);
  }
  parts_.clear();
  deep_ = false;
  for (std::uint32_t i = 0; i < count; ++i) {
    slots_[order[i]].prev = i == 0 ? none : order[i - 1];
    slots_[order[i]].next = i + 1 == count ? none : order[i + 1];
  }
  first_ = order[0];
  last_ = order[count - 1];
  return true;
}

template <Side side>
void FlatQueue<side>::go_deep() {
  if (next_sequence_ >= none - short_with_wildcards) next_sequence_ = 1;
  // All memory first: an exception leaves the queue short. An index begins with
  // room for more than a short queue.
  for (std::uint32_t slot = first_; slot != none; slot = slots_[slot].next) {
    reserve_links(class_of(slots_[slot].key()));
  }
  for (std::uint32_t slot = first_; slot != none;) {
    std::uint32_t next = slots_[slot].next;
    Key key = slots_[slot].key();
    link(slot, key, class_of(key));
    slot = next;
  }
  first_ = last_ = none;
  deep_ = true;
}

/// Sequence numbers have run out: gives the entries new ones from 1 on, in the
/// same order.
template <Side side>
void FlatQueue<side>::renumber() {
  std::uint32_t next = 1;
  each_in_order([&](std::uint32_t slot) { slots_[slot].sequence = next++; });
  next_sequence_ = next;
  if constexpr (side == Side::messages) parts_.clear();  // the next search makes them again
}

/// A deep queue has become empty.
template <Side side>
void FlatQueue<side>::go_short() {
  deep_ = false;
  parts_.clear();
  if (slots_.capacity() > keep_capacity) drop();
}

/// Gives all memory back. The queue must be empty.
template <Side side>
void FlatQueue<side>::drop() {
  slots_.drop();
  exact_.drop();
  wild_.drop();
  parts_.drop();
}

template class FlatQueue<Side::receives>;
template class FlatQueue<Side::messages>;

}  // namespace hob::match::flat

namespace hob::match {

// Here, so that the queues are inlined into the engine.
std::unique_ptr<Engine> make_flat_engine(const Config& config) {
  return std::make_unique<
      EngineOf<flat::FlatQueue<flat::Side::receives>, flat::FlatQueue<flat::Side::messages>>>(
      config.observer);
}

}  // namespace hob::match
