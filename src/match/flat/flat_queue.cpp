#include "match/flat/flat_queue.hpp"

#include <algorithm>

#include "match/strategies.hpp"

namespace hob::match::flat {

// --- short queues

/// The oldest entry of a short queue that goes with a key, or none.
template <Side side>
[[gnu::always_inline]] inline std::uint32_t FlatQueue<side>::search_short(Key with) const {
  if constexpr (side == Side::receives) {
    return short_.find(with, [](const ShortQueue::Entry& receive) { return receive.bits; });
  } else {
    const std::uint64_t bits = kComparedBits[wildcards_of(with)];
    return short_.find(with, [bits](const ShortQueue::Entry&) { return bits; });
  }
}

template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::append_short(Key key, void* item) {
  if (short_.numbers_used_up()) [[unlikely]] {
    return append_short_renumbered(key, item);
  }
  ++count_;
  return {nullptr, short_.append(key, kComparedBits[class_of(key)], item)};
}

/// The short queue's sequence numbers are used up.
template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::append_short_renumbered(Key key, void* item) {
  short_.renumber();
  return append_short(key, item);
}

template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::take_short(Key with, void* item) {
  std::uint32_t found = search_short(with);
  if (found == kNone) return other_->append(with, item);
  short_.remove(found);
  --count_;
  return {short_[found].item, 0};
}

// --- deep queues: searching

/// The oldest message that a receive with a wildcard takes, or none.
template <Side side>
std::uint32_t FlatQueue<side>::search_part(PartIndex::Part part, Key want) {
  parts_wanted_ = true;
  if (!parts_.ready(part, want, next_sequence_)) {
    parts_.make(slots_, part, want, in_order(), next_sequence_);
  }
  return parts_.find(slots_, part, want, next_sequence_);
}

// --- deep queues: taking

/// Forgets a slot that nothing but the parts' lists leads to any more. Gives
/// its item to whoever took it.
template <Side side>
[[gnu::always_inline]] inline typename FlatQueue<side>::Taken FlatQueue<side>::release(
    std::uint32_t slot) {
  if constexpr (side == Side::messages) {
    if (slots_[slot].lists() != 0) return release_listed(slot);
  }
  return release_unlisted(slot);
}

/// As release(), for a message in parts' lists.
template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::release_listed(std::uint32_t slot) {
  parts_.remove(slots_, slot);
  return release_unlisted(slot);
}

/// As release(), for what is in no part's list.
template <Side side>
[[gnu::always_inline]] inline typename FlatQueue<side>::Taken FlatQueue<side>::release_unlisted(
    std::uint32_t slot) {
  void* item = slots_[slot].item;
  slots_.release(slot);
  if (--count_ == 0) [[unlikely]] {
    return emptied(item);
  }
  return taken(item);
}

template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::taken(void* item) {
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
    Key with, void* item) {
  KeyIndex::Look look = exact_.look(hash_of(with));
  if (!look.hit()) {
    if (look.passed()) [[unlikely]] {
      return take_further(with, item);
    }
    return other_->append(with, item);
  }
  std::uint32_t& lane = look.lane();
  std::uint32_t slot = ring::oldest_of(lane);
  if (slots_[slot].key() != with) [[unlikely]] {
    return take_further(with, item);
  }
  if (ring::has_several(lane)) return take_of_several(lane);
  look.clear();
  return release(slot);
}

/// Takes the oldest of several entries with the same key, of which this is the lane.
template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::take_of_several(std::uint32_t& lane) {
  std::uint32_t slot = ring::oldest_of(lane);
  ring::take_from(lane, slots_.rings(), slot);
  return release(slot);
}

/// As take_exact(), wherever the key is.
template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::take_further(Key with, void* item) {
  std::uint64_t hash = hash_of(with);
  KeyIndex::Cell cell = exact_.find(slots_, with, hash);
  if (cell.slot == kNone) return other_->append(with, item);
  exact_.remove(slots_, cell.slot, cell, hash);
  return release(cell.slot);
}

template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::take_deep(Key with, void* item) {
  if constexpr (side == Side::receives) {
    if (wild_count_ != 0) return take_filtered(with, item);
  } else {
    if (wildcards_of(with) != 0) return take_wild(with, item);
  }
  return take_exact(with, item);
}

/// As take_deep(), while there are receives with wildcards.
template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::take_filtered(Key with, void* item) {
  if (class_count_[3] != 0) return take_wild(with, item);
  Class wildcards = filter_.may_accept(with);
  if (wildcards == 0) return take_tame(with, item);
  if (wildcards == 3) [[unlikely]] {
    return take_wild(with, item);
  }
  return take_by(wildcards, with, item);
}

/// As take_wild(), for a message that only receives with these wildcards may
/// accept, and others without any.
template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::take_by(Class wildcards, Key with, void* item) {
  if (exact_.look(hash_of(with)).nowhere()) [[likely]] {
    Key want = with_wildcards(with, wildcards);
    KeyIndex::Look look = wild_.look(hash_of(want));
    if (look.hit()) [[likely]] {
      std::uint32_t slot = look.lane();
      if (!ring::has_several(slot) && slots_[slot].key() == want) [[likely]] {
        look.clear();
        count_wild(wildcards, -1u);
        return release(slot);
      }
    }
  }
  return take_wild(with, item);
}

/// As take_deep(), for what goes with just its own key.
template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::take_tame(Key with, void* item) {
  return take_exact(with, item);
}

/// As take_deep(), for a message that may go to a receive with a wildcard, or
/// such a receive.
template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::take_wild(Key with, void* item) {
  if constexpr (side == Side::receives) {
    std::uint64_t best_hash = hash_of(with);
    KeyIndex::Cell best = exact_.find(slots_, with, best_hash);
    Class wildcards = 0;
    for (Class of = 1; of <= 3; ++of) {
      if (class_count_[of] == 0) continue;
      Key key = with_wildcards(with, of);
      std::uint64_t hash = hash_of(key);
      KeyIndex::Cell cell = wild_.find(slots_, key, hash);
      if (cell.slot == kNone) continue;
      if (best.slot != kNone && slots_[best.slot].sequence < slots_[cell.slot].sequence) continue;
      best = cell;
      best_hash = hash;
      wildcards = of;
    }
    if (best.slot == kNone) return other_->append(with, item);
    (wildcards != 0 ? wild_ : exact_).remove(slots_, best.slot, best, best_hash);
    if (wildcards != 0) count_wild(wildcards, -1u);
    return release(best.slot);
  } else {
    // Branches on what the receive says, which is there at once: so that those on what is found,
    // which come later and go the same way, are foreseen.
    const Class wildcards = wildcards_of(with);
    if (wildcards == 1) return take_part<PartIndex::by_tag>(with, item);
    if (wildcards == 2) return take_part<PartIndex::by_source>(with, item);
    return take_part<PartIndex::by_context>(with, item);
  }
}

/// As take_wild(), for a receive that looks for this part.
template <Side side>
template <PartIndex::Part part>
typename FlatQueue<side>::Taken FlatQueue<side>::take_part(Key with, void* item) {
  std::uint32_t slot = parts_.look(slots_, part, with);
  if (slot == PartIndex::kUnsure) [[unlikely]] {
    return take_searched(part, with, item);
  }
  parts_wanted_ = true;
  return take_exact(slots_[slot].key(), item);  // it is its key's oldest
}

/// As take_wild(), for a receive whose message a look does not find.
template <Side side>
typename FlatQueue<side>::Taken FlatQueue<side>::take_searched(PartIndex::Part part, Key with,
                                                               void* item) {
  std::uint32_t slot = search_part(part, with);
  if (slot == kNone) return other_->append(with, item);
  return take_tame(slots_[slot].key(), item);
}

template <Side side>
[[gnu::always_inline]] inline typename FlatQueue<side>::Taken FlatQueue<side>::take_or_queue(
    Key key, void* item) {
  if (count_ == 0) return other_->append(key, item);
  return deep_ ? take_deep(key, item) : take_short(key, item);
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
  index.remove(slots_, slot, index.find(slots_, key, hash), hash);
  if (wildcards != 0) count_wild(wildcards, -1u);
  const auto [item, unused] = release(slot);
  return item;
}

// --- deep queues: appending

template <Side side>
[[gnu::always_inline]] inline void FlatQueue<side>::fill(std::uint32_t slot, Key key, void* item) {
  Slot& filled = slots_[slot];
  filled.item = item;
  filled.place = key.place;
  filled.context = key.context;
  filled.sequence = next_sequence_;
  next_sequence_ += Slot::kSequenceStep;
  ++count_;
}

/// The end of append: a slot that is filled in and indexed gets known to the
/// parts' lists.
template <Side side>
[[gnu::always_inline]] inline typename FlatQueue<side>::Queued FlatQueue<side>::entered(
    std::uint32_t slot, Key key) {
  if constexpr (side == Side::messages) {
    if (parts_.any()) return entered_in_use(slot, key);
  }
  return queued(slot);
}

template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::queued(std::uint32_t slot) {
  return {nullptr, slot};
}

/// As entered(), with parts in use.
template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::entered_in_use(std::uint32_t slot, Key key) {
  if (parts_.wanted(key)) return entered_listed(slot, key);
  return {nullptr, slot};
}

/// As entered(), for a message that belongs in parts' lists.
template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::entered_listed(std::uint32_t slot, Key key) {
  parts_.append(slots_, slot, key);
  return {nullptr, slot};
}

template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::append_deep(Key key, void* item) {
  if (class_of(key) != 0) return append_wild(key, item);
  if (next_sequence_ == Slot::kSequenceEnd) [[unlikely]] {
    return append_renumbered(key, item);
  }
  std::uint32_t slot = slots_.allocate();
  if (slot == kNone) [[unlikely]] {
    return append_with_room(key, item);
  }
  fill(slot, key, item);
  KeyIndex::Look look = exact_.look(hash_of(key));
  if (look.hit()) {
    std::uint32_t& lane = look.lane();
    if (slots_[ring::oldest_of(lane)].key() != key) [[unlikely]] {
      return append_further(slot, key);
    }
    return append_to_several(slot, lane);
  }
  if (look.passed() || !KeyIndex::insert(slot, look)) [[unlikely]] {
    return append_further(slot, key);
  }
  return entered(slot, key);
}

/// The end of append_deep() where there are entries with the same key.
template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::append_to_several(std::uint32_t slot,
                                                                    std::uint32_t& lane) {
  ring::add_to(lane, slots_.rings(), slot);
  return entered(slot, slots_[slot].key());
}

/// The end of append_deep() where the key's own bucket does not do.
template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::append_further(std::uint32_t slot, Key key) {
  exact_.append(slots_, slot, key, hash_of(key));
  return entered(slot, key);
}

template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::append_wild(Key key, void* item) {
  if (next_sequence_ == Slot::kSequenceEnd) [[unlikely]] {
    return append_renumbered(key, item);
  }
  reserve_wild(1);
  std::uint32_t slot = slots_.allocate();
  if (slot == kNone) [[unlikely]] {
    return append_with_room(key, item);
  }
  fill(slot, key, item);
  filter_.add(key);
  count_wild(wildcards_of(key), 1);
  wild_.append(slots_, slot, key, hash_of(key));
  return {nullptr, slot};
}

/// Makes room for this many more receives with wildcards.
template <Side side>
void FlatQueue<side>::reserve_wild(std::size_t more) {
  wild_.reserve(wild_count_ + more, slots_);
  filter_.reserve(more, wild_count_, wild_, slots_);
}

/// More slots, and room for their keys. Throws std::bad_alloc.
template <Side side>
void FlatQueue<side>::make_room() {
  std::size_t capacity = slots_.next_capacity();
  exact_.reserve(capacity, slots_);
  if (parts_.any()) parts_.extend(capacity);
  slots_.grow();
}

/// The slots are used up.
template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::append_with_room(Key key, void* item) {
  make_room();
  return append_deep(key, item);
}

/// The sequence numbers are used up.
template <Side side>
typename FlatQueue<side>::Queued FlatQueue<side>::append_renumbered(Key key, void* item) {
  renumber();
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
  return count_ < ShortQueue::kMost ? append_short(key, item) : append_at_limit(key, item);
}

// --- the others

template <Side side>
std::optional<QueueEntry> FlatQueue<side>::find(const Envelope& want) {
  Key key = Key::of(want);
  Class wildcards = wildcards_of(key);
  std::uint32_t slot = kNone;
  if (!deep_) {
    slot = search_short(key);
  } else {
    slot = wildcards != 0 ? search_part(static_cast<PartIndex::Part>(wildcards - 1), key)
                          : exact_.find(slots_, key, hash_of(key)).slot;
  }
  if (slot == kNone) return std::nullopt;
  return entry(slot);
}

template <Side side>
std::optional<QueueEntry> FlatQueue<side>::oldest(std::uint32_t context) const {
  std::uint32_t best = deep_ ? kNone : short_.oldest(context);
  for (std::uint32_t slot = 0; deep_ && slot < slots_.used(); ++slot) {
    if (slots_[slot].sequence == 0 || slots_[slot].context != context) continue;
    if (best == kNone || slots_[slot].sequence < slots_[best].sequence) best = slot;
  }
  if (best == kNone) return std::nullopt;
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
  if (next_sequence_ >= Slot::kSequenceEnd - ShortQueue::kMost * Slot::kSequenceStep) {
    next_sequence_ = Slot::kSequenceStep;
  }
  // All memory first: an exception leaves the queue short.
  if (slots_.capacity() == 0) make_room();
  if constexpr (side == Side::receives) reserve_wild(ShortQueue::kMost);
  count_ = 0;
  for (std::uint32_t i = 0; i < ShortQueue::kMost; ++i) slots_.allocate();
  short_.each_in_order([&](std::uint32_t slot) {
    Key key = short_[slot].key();
    Class wildcards = class_of(key);
    fill(slot, key, short_[slot].item);
    entered(slot, key);
    (wildcards != 0 ? wild_ : exact_).append(slots_, slot, key, hash_of(key));
    if (wildcards != 0) {
      filter_.add(key);
      count_wild(wildcards, 1);
    }
  });
  short_.clear();
  deep_ = true;
}

/// Sequence numbers have run out: gives the entries new ones from the first on, in the same order.
template <Side side>
void FlatQueue<side>::renumber() {
  std::uint32_t next = Slot::kSequenceStep;
  for (std::uint32_t slot : in_order()) {
    slots_[slot].sequence = next | slots_[slot].lists();
    next += Slot::kSequenceStep;
  }
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
  if (slots_.capacity() > kKeepCapacity) drop();
}

/// Gives all memory back. The queue must be empty.
template <Side side>
void FlatQueue<side>::drop() {
  slots_.drop();
  exact_.drop();
  wild_.drop();
  filter_.drop();
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
  explicit FlatEngine(MemoryObserver* observer) : QueuePair(observer) {
    prq_.pair_with(umq_);
    umq_.pair_with(prq_);
  }

  PostResult post(const Envelope& want, void* request) override {
    return umq_.take_or_queue(flat::Key::of(want), request);
  }

  ArriveResult arrive(const Envelope& envelope, void* message) override {
    return prq_.take_or_queue(flat::Key::of(envelope), message);
  }
};

}  // namespace

// Here, so that the queues are inlined into the engine.
std::unique_ptr<Engine> make_flat_engine(const Config& config) {
  return std::make_unique<FlatEngine>(config.observer);
}

}  // namespace hob::match
