#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "match/engine_of.hpp"
#include "match/flat/key_index.hpp"
#include "match/flat/part_index.hpp"
#include "match/flat/short_queue.hpp"
#include "match/flat/slots.hpp"
#include "match/flat/wild_filter.hpp"
#include "match/memory.hpp"

namespace hob::match::flat {

/// What the entries of a queue are: receives may have wildcards, messages have
/// none (the receives that look for them may).
enum class Side { receives, messages };

/// A queue in which the cost of a search does not depend on the length.
///
/// A few entries are a short queue. Beyond, and until it is empty again,
/// entries are found by key. A receive's key is its envelope, wildcards as they stand, so that
/// there are four classes of keys; a message looks up its own four keys (those that no receive has
/// cost next to nothing) and takes the entry with the lowest sequence number. A message is indexed
/// by its full envelope and, once a receive with a wildcard has searched a deep queue, by the part
/// of the envelope that such receives want.
///
/// Everything that matching does happens in amortised O(1). Not thread safe.
///
/// The cost of a match is the number of its instructions, so what is usual is
/// done by functions that call no other: they need no stack, and hand over what
/// is rare, or what comes next, as their last act. The attributes of functions keep the compiler to
/// that.
template <Side side>
class FlatQueue {
 public:
  /// Slots that are kept for the next time when the queue gets empty; what a
  /// greater flood took is given back.
  static constexpr std::size_t kKeepCapacity = std::size_t{1} << 18;

  /// What whoever searches this queue gets, and what whoever is queued in it.
  using Taken = std::conditional_t<side == Side::receives, ArriveResult, PostResult>;
  using Queued = std::conditional_t<side == Side::receives, PostResult, ArriveResult>;
  using Other = FlatQueue<side == Side::receives ? Side::messages : Side::receives>;

  /// `first_sequence`: where the numbering starts, so that a test can reach its
  /// end; a multiple of Slot::sequence_step, not 0.
  explicit FlatQueue(Memory& memory, std::uint32_t first_sequence = Slot::kSequenceStep)
      : slots_(memory),
        exact_(memory),
        wild_(memory),
        filter_(memory),
        parts_(memory),
        next_sequence_(first_sequence) {}

  /// Where take_or_queue() queues. Once, before it.
  void pair_with(Other& other) { other_ = &other; }

  /// Queues an entry at the end.
  [[gnu::always_inline]] Queued append(Key key, void* item) {
    if (deep_) return append_deep(key, item);
    return count_ < ShortQueue::kMost ? append_short(key, item) : append_at_limit(key, item);
  }

  /// Takes the oldest entry that goes with `key`; if there is none, queues
  /// `item` in the other queue.
  [[gnu::always_inline]] Taken take_or_queue(Key key, void* item) {
    if (count_ == 0) return other_->append(key, item);
    return deep_ ? take_deep(key, item) : take_short(key, item);
  }

  [[gnu::noinline]] std::optional<QueueEntry> find(const Envelope& want) {
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

  void* remove(Handle handle) {
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

  /// This one and collect() look at all slots.
  std::optional<QueueEntry> oldest(std::uint32_t context) const {
    std::uint32_t best = deep_ ? kNone : short_.oldest(context);
    for (std::uint32_t slot = 0; deep_ && slot < slots_.used(); ++slot) {
      if (slots_[slot].sequence == 0 || slots_[slot].context != context) continue;
      if (best == kNone || slots_[slot].sequence < slots_[best].sequence) best = slot;
    }
    if (best == kNone) return std::nullopt;
    return entry(best);
  }

  void collect(std::uint32_t context, std::vector<QueueEntry>& out) const {
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

  std::size_t size() const { return count_; }

 private:
  using Class = unsigned;  // what wildcards_of() says
  static Class class_of(Key key) { return side == Side::receives ? wildcards_of(key) : 0; }

  QueueEntry entry(std::uint32_t slot) const {
    if (!deep_) return {short_[slot].key().envelope(), short_[slot].item, slot};
    return {slots_[slot].key().envelope(), slots_[slot].item, slot};
  }

  // --- short queues

  /// The oldest entry of a short queue that goes with a key, or none.
  [[gnu::always_inline]] std::uint32_t search_short(Key with) const {
    if constexpr (side == Side::receives) {
      return short_.find(with, [](const ShortQueue::Entry& receive) { return receive.bits; });
    } else {
      const std::uint64_t bits = kComparedBits[wildcards_of(with)];
      return short_.find(with, [bits](const ShortQueue::Entry&) { return bits; });
    }
  }

  [[gnu::noinline]] Queued append_short(Key key, void* item) {
    if (short_.numbers_used_up()) [[unlikely]] {
      return append_short_renumbered(key, item);
    }
    ++count_;
    return {nullptr, short_.append(key, kComparedBits[class_of(key)], item)};
  }

  /// The short queue's sequence numbers are used up.
  [[gnu::noinline, gnu::cold]] Queued append_short_renumbered(Key key, void* item) {
    short_.renumber();
    return append_short(key, item);
  }

  [[gnu::noinline]] Taken take_short(Key with, void* item) {
    std::uint32_t found = search_short(with);
    if (found == kNone) return other_->append(with, item);
    short_.remove(found);
    --count_;
    return {short_[found].item, 0};
  }

  // --- deep queues: searching

  /// The oldest message that a receive with a wildcard takes, or none.
  std::uint32_t search_part(PartIndex::Part part, Key want) {
    parts_wanted_ = true;
    if (!parts_.ready(part, want, next_sequence_)) {
      parts_.make(slots_, part, want, in_order(), next_sequence_);
    }
    return parts_.find(slots_, part, want, next_sequence_);
  }

  // --- deep queues: taking

  /// Forgets a slot that nothing but the parts' lists leads to any more. Gives
  /// its item to whoever took it.
  [[gnu::always_inline]] Taken release(std::uint32_t slot) {
    if constexpr (side == Side::messages) {
      if (slots_[slot].lists() != 0) return release_listed(slot);
    }
    return release_unlisted(slot);
  }

  /// As release(), for a message in parts' lists.
  [[gnu::noinline]] Taken release_listed(std::uint32_t slot) {
    parts_.remove(slots_, slot);
    return release_unlisted(slot);
  }

  /// As release(), for what is in no part's list.
  [[gnu::always_inline]] Taken release_unlisted(std::uint32_t slot) {
    void* item = slots_[slot].item;
    slots_.release(slot);
    if (--count_ == 0) [[unlikely]] {
      return emptied(item);
    }
    return taken(item);
  }

  [[gnu::noinline]] static Taken taken(void* item) { return {item, 0}; }

  [[gnu::noinline, gnu::cold]] Taken emptied(void* item) {
    go_short();
    return {item, 0};
  }

  /// Takes the oldest entry with just this key.
  [[gnu::always_inline]] Taken take_exact(Key with, void* item) {
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
  [[gnu::noinline]] Taken take_of_several(std::uint32_t& lane) {
    std::uint32_t slot = ring::oldest_of(lane);
    ring::take_from(lane, slots_.rings(), slot);
    return release(slot);
  }

  /// As take_exact(), wherever the key is.
  [[gnu::noinline, gnu::cold]] Taken take_further(Key with, void* item) {
    std::uint64_t hash = hash_of(with);
    KeyIndex::Cell cell = exact_.find(slots_, with, hash);
    if (cell.slot == kNone) return other_->append(with, item);
    exact_.remove(slots_, cell.slot, cell, hash);
    return release(cell.slot);
  }

  [[gnu::noinline]] Taken take_deep(Key with, void* item) {
    if constexpr (side == Side::receives) {
      if (wild_count_ != 0) return take_filtered(with, item);
    } else {
      if (wildcards_of(with) != 0) return take_wild(with, item);
    }
    return take_exact(with, item);
  }

  /// As take_deep(), while there are receives with wildcards.
  [[gnu::noinline]] Taken take_filtered(Key with, void* item) {
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
  [[gnu::noinline]] Taken take_by(Class wildcards, Key with, void* item) {
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
  [[gnu::noinline]] Taken take_tame(Key with, void* item) { return take_exact(with, item); }

  /// As take_deep(), for a message that may go to a receive with a wildcard, or
  /// such a receive.
  [[gnu::noinline]] Taken take_wild(Key with, void* item) {
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
  template <PartIndex::Part part>
  [[gnu::noinline]] Taken take_part(Key with, void* item) {
    std::uint32_t slot = parts_.look(slots_, part, with);
    if (slot == PartIndex::kUnsure) [[unlikely]] {
      return take_searched(part, with, item);
    }
    parts_wanted_ = true;
    return take_exact(slots_[slot].key(), item);  // it is its key's oldest
  }

  /// As take_wild(), for a receive whose message a look does not find.
  [[gnu::noinline]] Taken take_searched(PartIndex::Part part, Key with, void* item) {
    std::uint32_t slot = search_part(part, with);
    if (slot == kNone) return other_->append(with, item);
    return take_tame(slots_[slot].key(), item);
  }

  // --- deep queues: appending

  [[gnu::always_inline]] void fill(std::uint32_t slot, Key key, void* item) {
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
  [[gnu::always_inline]] Queued entered(std::uint32_t slot, Key key) {
    if constexpr (side == Side::messages) {
      if (parts_.any()) return entered_in_use(slot, key);
    }
    return queued(slot);
  }

  [[gnu::noinline]] static Queued queued(std::uint32_t slot) { return {nullptr, slot}; }

  /// As entered(), with parts in use.
  [[gnu::noinline]] Queued entered_in_use(std::uint32_t slot, Key key) {
    if (parts_.wanted(key)) return entered_listed(slot, key);
    return {nullptr, slot};
  }

  /// As entered(), for a message that belongs in parts' lists.
  [[gnu::noinline]] Queued entered_listed(std::uint32_t slot, Key key) {
    parts_.append(slots_, slot, key);
    return {nullptr, slot};
  }

  [[gnu::noinline]] Queued append_deep(Key key, void* item) {
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
  [[gnu::noinline]] Queued append_to_several(std::uint32_t slot, std::uint32_t& lane) {
    ring::add_to(lane, slots_.rings(), slot);
    return entered(slot, slots_[slot].key());
  }

  /// The end of append_deep() where the key's own bucket does not do.
  [[gnu::noinline, gnu::cold]] Queued append_further(std::uint32_t slot, Key key) {
    exact_.append(slots_, slot, key, hash_of(key));
    return entered(slot, key);
  }

  [[gnu::noinline]] Queued append_wild(Key key, void* item) {
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
  void reserve_wild(std::size_t more) {
    wild_.reserve(wild_count_ + more, slots_);
    filter_.reserve(more, wild_count_, wild_, slots_);
  }

  void count_wild(Class wildcards, std::uint32_t change) {
    class_count_[wildcards] += change;
    wild_count_ += change;
  }

  /// More slots, and room for their keys. Throws std::bad_alloc.
  [[gnu::noinline]] void make_room() {
    std::size_t capacity = slots_.next_capacity();
    exact_.reserve(capacity, slots_);
    if (parts_.any()) parts_.extend(capacity);
    slots_.grow();
  }

  /// The slots are used up.
  [[gnu::noinline, gnu::cold]] Queued append_with_room(Key key, void* item) {
    make_room();
    return append_deep(key, item);
  }

  /// The sequence numbers are used up.
  [[gnu::noinline, gnu::cold]] Queued append_renumbered(Key key, void* item) {
    renumber();
    return append_deep(key, item);
  }

  /// The list is as long as a short queue may be.
  [[gnu::noinline, gnu::cold]] Queued append_at_limit(Key key, void* item) {
    go_deep();
    return append_deep(key, item);
  }

  /// The slots of a deep queue.
  [[gnu::noinline]] std::vector<std::uint32_t> in_order() const {
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

  // --- from short to deep and back

  /// A full short queue gets deep. Each entry's slot has its number: handles stay.
  void go_deep() {
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

  /// Sequence numbers have run out: gives the entries new ones from the first on, in the same
  /// order.
  void renumber() {
    std::uint32_t next = Slot::kSequenceStep;
    for (std::uint32_t slot : in_order()) {
      slots_[slot].sequence = next | slots_[slot].lists();
      next += Slot::kSequenceStep;
    }
    next_sequence_ = next;
  }

  /// The queue has become empty.
  void go_short() {
    slots_.reset();
    deep_ = false;
    // Lists that were searched are kept for the next time: they are empty now.
    if (!parts_wanted_) parts_.clear();
    parts_wanted_ = false;
    if (slots_.capacity() > kKeepCapacity) drop();
  }

  /// Gives all memory back. The queue must be empty.
  [[gnu::noinline]] void drop() {
    slots_.drop();
    exact_.drop();
    wild_.drop();
    filter_.drop();
    parts_.drop();
  }

  std::uint32_t count_ = 0;
  bool deep_ = false;
  Other* other_ = nullptr;
  bool parts_wanted_ = false;  // since the queue was empty
  ShortQueue short_;           // empty while the queue is deep
  Slots slots_;                // empty while it is short
  KeyIndex exact_;             // has room for a key in each slot
  // Receives with wildcards have an index of their own, and every message asks
  // the filter whether to search it.
  KeyIndex wild_;
  WildFilter filter_;
  std::uint32_t wild_count_ = 0;
  std::array<std::uint32_t, 4> class_count_{};  // receives in a deep queue, by wildcards (not 0)
  PartIndex parts_;                             // messages only
  std::uint32_t next_sequence_;
};

}  // namespace hob::match::flat
