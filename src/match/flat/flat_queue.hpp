#pragma once

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
/// is rare, or what comes next, as their last act.
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
  Queued append(Key key, void* item);
  /// Takes the oldest entry that goes with `key`; if there is none, queues
  /// `item` in the other queue.
  Taken take_or_queue(Key key, void* item);
  std::optional<QueueEntry> find(const Envelope& want);
  void* remove(Handle handle);
  /// These two look at all slots.
  std::optional<QueueEntry> oldest(std::uint32_t context) const;
  void collect(std::uint32_t context, std::vector<QueueEntry>& out) const;
  std::size_t size() const { return count_; }

 private:
  using Class = unsigned;  // what wildcards_of() says
  static Class class_of(Key key) { return side == Side::receives ? wildcards_of(key) : 0; }

  QueueEntry entry(std::uint32_t slot) const {
    if (!deep_) return {short_[slot].key().envelope(), short_[slot].item, slot};
    return {slots_[slot].key().envelope(), slots_[slot].item, slot};
  }

  std::uint32_t search_short(Key with) const;
  std::uint32_t search_part(PartIndex::Part part, Key want);

  // Short and deep queues have functions of their own.
  [[gnu::noinline]] Queued append_short(Key key, void* item);
  [[gnu::noinline]] Queued append_deep(Key key, void* item);
  [[gnu::noinline]] Queued append_wild(Key key, void* item);
  Queued entered(std::uint32_t slot, Key key);
  [[gnu::noinline]] Queued entered_in_use(std::uint32_t slot, Key key);
  [[gnu::noinline]] Queued entered_listed(std::uint32_t slot, Key key);
  [[gnu::noinline]] static Queued queued(std::uint32_t slot);
  [[gnu::noinline]] Queued append_to_several(std::uint32_t slot, std::uint32_t& lane);
  [[gnu::noinline]] Taken take_short(Key with, void* item);
  [[gnu::noinline]] Taken take_deep(Key with, void* item);
  [[gnu::noinline]] Taken take_filtered(Key with, void* item);
  [[gnu::noinline]] Taken take_by(Class wildcards, Key with, void* item);
  [[gnu::noinline]] Taken take_tame(Key with, void* item);
  [[gnu::noinline]] Taken take_wild(Key with, void* item);
  template <PartIndex::Part part>
  [[gnu::noinline]] Taken take_part(Key with, void* item);
  [[gnu::noinline]] Taken take_searched(PartIndex::Part part, Key with, void* item);
  [[gnu::noinline]] Taken take_of_several(std::uint32_t& lane);
  Taken take_exact(Key with, void* item);
  Taken release(std::uint32_t slot);
  [[gnu::noinline]] Taken release_listed(std::uint32_t slot);
  Taken release_unlisted(std::uint32_t slot);
  [[gnu::noinline]] static Taken taken(void* item);
  // What is rare.
  [[gnu::noinline, gnu::cold]] Queued append_at_limit(Key key, void* item);
  [[gnu::noinline, gnu::cold]] Queued append_with_room(Key key, void* item);
  [[gnu::noinline, gnu::cold]] Queued append_renumbered(Key key, void* item);
  [[gnu::noinline, gnu::cold]] Queued append_short_renumbered(Key key, void* item);
  [[gnu::noinline, gnu::cold]] Queued append_further(std::uint32_t slot, Key key);
  [[gnu::noinline, gnu::cold]] Taken take_further(Key with, void* item);
  [[gnu::noinline, gnu::cold]] Taken emptied(void* item);

  void fill(std::uint32_t slot, Key key, void* item);
  void make_room();
  void reserve_wild(std::size_t more);
  void count_wild(Class wildcards, std::uint32_t change) {
    class_count_[wildcards] += change;
    wild_count_ += change;
  }
  std::vector<std::uint32_t> in_order() const;
  void go_deep();
  void renumber();
  void go_short();
  void drop();

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
