#include "match/flat/flat_queue.hpp"

#include <algorithm>

#include "match/strategies.hpp"

namespace hob::match::flat {

namespace {

constexpr std::uint64_t source_wildcard = std::uint64_t{static_cast<std::uint32_t>(any_source)}
                                          << 32;
constexpr std::uint64_t tag_wildcard = static_cast<std::uint32_t>(any_tag);

/// What a receive looks like that takes messages with this key and has wildcards.
Key any_source_of(Key key) { return {source_wildcard | key.tag(), key.context}; }
Key any_tag_of(Key key) { return {std::uint64_t{key.source()} << 32 | tag_wildcard, key.context}; }
Key any_of(Key key) { return {source_wildcard | tag_wildcard, key.context}; }

}  // namespace

// --- short queues

/// The oldest entry of a short queue that goes with a key, or none.
template <Side side>
[[gnu::always_inline]] inline std::uint32_t FlatQueue<side>::search_short(Key with) const {
  if constexpr (side == Side::receives) {
    return short_.find(with, [](const ShortQueue::Entry& receive) { return receive.bits; });
  } else {
    const std::uint64_t bits = compared_bits[wildcards_of(with)];
    return short_.find(with, [bits](const ShortQueue::Entry&) { return bits; });
  }
}

template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::append_short(Key key, void* item) {
  ++count_;
  return {nullptr, short_.append(key, compared_bits[class_of(key)], item)};
}

template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::take_short(Other& other, Key with, void* item) {
  std::uint32_t found = search_short(with);
  if (found == none) return other.append(with, item);
  short_.remove(found);
  --count_;
  return {short_[found].item, 0};
}

// --- deep queues: searching

/// Whether a receive with a wildcard may accept this message. Mostly right.
template <Side side>
[[gnu::always_inline]] inline bool FlatQueue<side>::maybe_wild(Key with) {
  KeyIndex::Look source = wild_.look(hash_of(any_source_of(with)));
  KeyIndex::Look tag = wild_.look(hash_of(any_tag_of(with)));
  return (class_count_[3] | source.hits | tag.hits) != 0 || source.passed() || tag.passed();
}

/// The oldest message that a receive with a wildcard takes, or none.
template <Side side>
[[gnu::always_inline]] inline std::uint32_t FlatQueue<side>::search_part(Key want,
                                                                         Class wildcards) {
  PartIndex::Part part = wildcards == 1   ? PartIndex::by_tag
                         : wildcards == 2 ? PartIndex::by_source
                                          : PartIndex::by_context;
  parts_wanted_ = true;
  if (!parts_.ready(part, count_)) [[unlikely]] {
    parts_.make(slots_, part, in_order());
  }
  return parts_.find(slots_, part, want);
}

// --- deep queues: taking

/// Forgets a slot that nothing but the parts' lists leads to any more. Gives
/// its item to whoever took it.
template <Side side>
[[gnu::always_inline]] inline typename FlatQueue<side>::Taken FlatQueue<side>::release(
    std::uint32_t slot) {
  void* item = slots_[slot].item;
  if constexpr (side == Side::messages) {
    if (parts_.any()) parts_.remove(slot);
  }
  slots_.release(slot);
  if (--count_ == 0) [[unlikely]] {
    return emptied(item);
  }
  return {item, 0};
}

template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::emptied(void* item) {
  go_short();
  return {item, 0};
}

/// Takes the oldest entry with just this key.
template <Side side>
[[gnu::always_inline]] inline typename FlatQueue<side>::Taken FlatQueue<side>::take_exact(
    Other& other, Key with, void* item) {
  KeyIndex::Look look = exact_.look(hash_of(with));
  if (!look.hit()) {
    if (look.passed()) [[unlikely]] {
      return take_further(other, with, item);
    }
    return other.append(with, item);
  }
  std::uint32_t slot = look.slot();
  if (slots_[slot].key() != with) [[unlikely]] {
    return take_further(other, with, item);
  }
  std::uint32_t next = slots_[slot].next;
  if (next == slot) [[likely]] {
    look.clear();
  } else {
    look.slot() = next;
    KeyIndex::unlink(slots_, slot);
  }
  return release(slot);
}

/// As take_exact(), wherever the key is.
template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::take_further(Other& other, Key with, void* item) {
  std::uint64_t hash = hash_of(with);
  KeyIndex::Cell cell = exact_.find(slots_, with, hash);
  if (cell.slot == none) return other.append(with, item);
  exact_.remove(slots_, cell, hash);
  return release(cell.slot);
}

template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::take_deep(Other& other, Key with, void* item) {
  if constexpr (side == Side::receives) {
    if (wild_count_ != 0 && maybe_wild(with)) return take_wild(other, with, item);
  } else {
    if (wildcards_of(with) != 0) return take_wild(other, with, item);
  }
  return take_exact(other, with, item);
}

/// As take_deep(), for a message that may go to a receive with a wildcard, or
/// such a receive.
template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::take_wild(Other& other, Key with, void* item) {
  if constexpr (side == Side::receives) {
    std::uint64_t best_hash = hash_of(with);
    KeyIndex::Cell best = exact_.find(slots_, with, best_hash);
    Class wildcards = 0;
    auto or_older = [&](Class of, Key key) {
      if (class_count_[of] == 0) return;
      std::uint64_t hash = hash_of(key);
      KeyIndex::Cell cell = wild_.find(slots_, key, hash);
      if (cell.slot == none) return;
      if (best.slot != none && slots_[best.slot].sequence < slots_[cell.slot].sequence) return;
      best = cell;
      best_hash = hash;
      wildcards = of;
    };
    or_older(1, any_source_of(with));
    or_older(2, any_tag_of(with));
    or_older(3, any_of(with));
    if (best.slot == none) return other.append(with, item);
    (wildcards != 0 ? wild_ : exact_).remove(slots_, best, best_hash);
    if (wildcards != 0) count_wild(wildcards, -1u);
    return release(best.slot);
  } else {
    std::uint32_t slot = search_part(with, wildcards_of(with));
    if (slot == none) return other.append(with, item);
    return take_exact(other, slots_[slot].key(), item);  // it is its key's oldest
  }
}

template <Side side>
[[gnu::always_inline]] inline typename FlatQueue<side>::Taken FlatQueue<side>::take_or_queue(
    Other& other, Key key, void* item) {
  if (count_ == 0) return other.append(key, item);
  return deep_ ? take_deep(other, key, item) : take_short(other, key, item);
}

template <Side side>
void* FlatQueue<side>::remove(Handle handle) {
  auto slot = static_cast<std::uint32_t>(handle);
  if (!deep_) {
    short_.remove(slot);
    --count_;
    return short_[slot].item;
  }
  Key key = slots_[slot].key();
  Class wildcards = class_of(key);
  std::uint64_t hash = hash_of(key);
  KeyIndex& index = wildcards != 0 ? wild_ : exact_;
  KeyIndex::Cell cell = index.find(slots_, key, hash);
  if (cell.slot == slot) {
    index.remove(slots_, cell, hash);
  } else {
    KeyIndex::unlink(slots_, slot);
  }
  if (wildcards != 0) count_wild(wildcards, -1u);
  const auto [item, unused] = release(slot);
  return item;
}

// --- deep queues: appending

/// A new slot. Not while the slots are full.
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

/// Makes a slot that is filled in known to the parts' lists, and gives it its
/// place in the order.
template <Side side>
[[gnu::always_inline]] inline void FlatQueue<side>::enter(std::uint32_t slot, Key key) {
  slots_[slot].sequence = next_sequence_++;
  if constexpr (side == Side::messages) {
    if (parts_.any()) parts_.append(slot, key);
  }
}

template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::append_deep(Key key, void* item) {
  if (slots_.full() || next_sequence_ == none) [[unlikely]] {
    return append_with_room(key, item);
  }
  if (class_of(key) != 0) return append_wild(key, item);
  std::uint32_t slot = fill(key, item);
  enter(slot, key);
  KeyIndex::Look look = exact_.look(hash_of(key));
  if (look.hit()) {
    std::uint32_t oldest = look.slot();
    if (slots_[oldest].key() != key) [[unlikely]] {
      return append_further(slot, key);
    }
    KeyIndex::add_to_ring(slots_, slot, oldest);
  } else if (look.passed() || !KeyIndex::insert(slots_, slot, look)) [[unlikely]] {
    return append_further(slot, key);
  }
  return {nullptr, slot};
}

/// The end of append_deep() where the key's own bucket does not do.
template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::append_further(std::uint32_t slot, Key key) {
  exact_.append(slots_, slot, key, hash_of(key));
  return {nullptr, slot};
}

template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::append_wild(Key key, void* item) {
  wild_.reserve(wild_count_ + 1, slots_);
  std::uint32_t slot = fill(key, item);
  enter(slot, key);
  count_wild(wildcards_of(key), 1);
  wild_.append(slots_, slot, key, hash_of(key));
  return {nullptr, slot};
}

/// More slots, and room for their keys. Throws std::bad_alloc.
template <Side side>
void FlatQueue<side>::make_room() {
  std::size_t capacity = slots_.next_capacity();
  exact_.reserve(capacity, slots_);
  if (parts_.any()) parts_.extend(capacity);
  slots_.grow();
}

/// Makes room first: slots or numbers are used up.
template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::append_with_room(Key key, void* item) {
  if (slots_.full()) make_room();
  if (next_sequence_ == none) renumber();
  return append_deep(key, item);
}

/// The list is as long as a short queue may be.
template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::append_at_limit(Key key, void* item) {
  go_deep();
  return append_deep(key, item);
}

template <Side side>
[[gnu::always_inline]] inline typename FlatQueue<side>::Queued FlatQueue<side>::append(Key key,
                                                                                       void* item) {
  if (deep_) return append_deep(key, item);
  return count_ < ShortQueue::most ? append_short(key, item) : append_at_limit(key, item);
}

// --- the others

template <Side side>
std::optional<QueueEntry> FlatQueue<side>::find(const Envelope& want) {
  Key key = Key::of(want);
  Class wildcards = wildcards_of(key);
  std::uint32_t slot = none;
  if (!deep_) {
    slot = search_short(key);
  } else {
    slot =
        wildcards != 0 ? search_part(key, wildcards) : exact_.find(slots_, key, hash_of(key)).slot;
  }
  if (slot == none) return std::nullopt;
  return entry(slot);
}

template <Side side>
std::optional<QueueEntry> FlatQueue<side>::oldest(std::uint32_t context) const {
  std::uint32_t best = deep_ ? none : short_.oldest(context);
  for (std::uint32_t slot = 0; deep_ && slot < slots_.used(); ++slot) {
    if (slots_[slot].sequence == 0 || slots_[slot].context != context) continue;
    if (best == none || slots_[slot].sequence < slots_[best].sequence) best = slot;
  }
  if (best == none) return std::nullopt;
  return entry(best);
}

/// The slots of a deep queue.
template <Side side>
std::vector<std::uint32_t> FlatQueue<side>::in_order() const {
  std::vector<std::uint32_t> live;
  live.reserve(count_);
  for (std::uint32_t slot = 0; slot < slots_.used(); ++slot) {
    if (slots_[slot].sequence != 0) live.push_back(slot);
  }
  std::sort(live.begin(), live.end(), [&](std::uint32_t a, std::uint32_t b) {
    return slots_[a].sequence < slots_[b].sequence;
  });
  return live;
}

template <Side side>
void FlatQueue<side>::collect(std::uint32_t context, std::vector<QueueEntry>& out) const {
  auto add = [&](std::uint32_t slot) {
    QueueEntry it = entry(slot);
    if (it.envelope.context == context) out.push_back(it);
  };
  if (deep_) {
    for (std::uint32_t slot : in_order()) add(slot);
  } else {
    short_.each_in_order(add);
  }
}

// --- from short to deep and back

/// A full short queue gets deep. Each entry's slot has its number: handles stay.
template <Side side>
void FlatQueue<side>::go_deep() {
  if (next_sequence_ >= none - ShortQueue::most) next_sequence_ = 1;
  // All memory first: an exception leaves the queue short.
  if (slots_.full()) make_room();
  if constexpr (side == Side::receives) wild_.reserve(ShortQueue::most, slots_);
  count_ = 0;
  for (std::uint32_t i = 0; i < ShortQueue::most; ++i) fill(short_[i].key(), short_[i].item);
  short_.each_in_order([&](std::uint32_t slot) {
    Key key = slots_[slot].key();
    Class wildcards = class_of(key);
    enter(slot, key);
    (wildcards != 0 ? wild_ : exact_).append(slots_, slot, key, hash_of(key));
    if (wildcards != 0) count_wild(wildcards, 1);
  });
  short_.clear();
  deep_ = true;
}

/// Sequence numbers have run out: gives the entries new ones from 1 on, in the
/// same order.
template <Side side>
void FlatQueue<side>::renumber() {
  std::uint32_t next = 1;
  for (std::uint32_t slot : in_order()) slots_[slot].sequence = next++;
  next_sequence_ = next;
}

/// The queue has become empty.
template <Side side>
void FlatQueue<side>::go_short() {
  slots_.reset();
  deep_ = false;
  // Lists that were searched are kept for the next time: they are empty now.
  if (!parts_wanted_) parts_.clear();
  parts_wanted_ = false;
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

namespace {

/// The two calls that matter go straight through both queues.
class FlatEngine final : public QueuePair<flat::FlatQueue<flat::Side::receives>,
                                          flat::FlatQueue<flat::Side::messages>> {
 public:
  using QueuePair::QueuePair;

  PostResult post(const Envelope& want, void* request) override {
    return umq_.take_or_queue(prq_, flat::Key::of(want), request);
  }

  ArriveResult arrive(const Envelope& envelope, void* message) override {
    return prq_.take_or_queue(umq_, flat::Key::of(envelope), message);
  }
};

}  // namespace

// Here, so that the queues are inlined into the engine.
std::unique_ptr<Engine> make_flat_engine(const Config& config) {
  return std::make_unique<FlatEngine>(config.observer);
}

}  // namespace hob::match
