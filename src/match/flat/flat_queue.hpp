#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "match/engine_of.hpp"
#include "match/flat/key_index.hpp"
#include "match/flat/part_index.hpp"
#include "match/flat/slots.hpp"
#include "match/memory.hpp"

namespace hob::match::flat {

/// What the entries of a queue are: receives may have wildcards, messages have
/// none (the receives that look for them may).
enum class Side { receives, messages };

/// A queue in which the cost of a search does not depend on the length.
///
/// Up to `short_length` entries it is a plain list, `short_with_wildcards`
/// where there are any: those make keys dearer. Beyond, and until it is empty
/// again, entries are found by key. A receive's key is its envelope, wildcards
/// as they stand, so that there are four classes of keys; a message looks up
/// its own four keys (those of classes that are empty are left out) and takes
/// the entry with the lowest sequence number. A message is indexed by its full
/// envelope, and once a receive with a wildcard has searched a long queue, by
/// the part of the envelope that such receives want.
///
/// Everything that matching does happens in amortised O(1). Not thread safe.
template <Side side>
class FlatQueue {
 public:
  /// Most entries that are kept as a plain list.
  static constexpr std::uint32_t short_length = 2;
  static constexpr std::uint32_t short_with_wildcards = 5;
  /// Slots that are kept for the next time when the queue gets empty; what a
  /// greater flood took is given back.
  static constexpr std::size_t keep_capacity = std::size_t{1} << 18;

  /// `first_sequence`: where the numbering starts, so that a test can reach its
  /// end.
  explicit FlatQueue(Memory& memory, std::uint32_t first_sequence = 1)
      : slots_(memory),
        exact_(memory),
        wild_(memory),
        parts_(memory),
        next_sequence_(first_sequence) {}

  Handle append(const Envelope& envelope, void* item);
  void* take(const Envelope& with);
  std::optional<QueueEntry> find(const Envelope& want);
  void* remove(Handle handle);
  /// These two look at all slots.
  std::optional<QueueEntry> oldest(std::uint32_t context) const;
  void collect(std::uint32_t context, std::vector<QueueEntry>& out) const;
  std::size_t size() const { return count_; }

 private:
  /// Which wildcards a key has: bit 0 the source, bit 1 the tag.
  using Class = unsigned;
  static Class wildcards_of(Key key) {
    return static_cast<Class>(static_cast<std::int32_t>(key.source()) == any_source) |
           static_cast<Class>(static_cast<std::int32_t>(key.tag()) == any_tag) << 1;
  }
  static Class class_of(Key key) { return side == Side::receives ? wildcards_of(key) : 0; }

  /// What a search of a deep queue found.
  struct Found {
    KeyIndex::Cell cell;  ///< slot none: nothing
    std::uint64_t hash;   ///< of the entry's key
    Class wildcards;      ///< of the entry
  };
  static constexpr Found nothing{{none, 0, nullptr, nullptr}, 0, 0};

  KeyIndex& index_of(Class wildcards) { return wildcards != 0 ? wild_ : exact_; }
  QueueEntry entry(std::uint32_t slot) const {
    return {slots_[slot].key().envelope(), slots_[slot].item, slot};
  }

  std::uint32_t search_short(Key with) const;
  Found search_exact(Key key);
  std::uint32_t search_wild(Key with);
  [[gnu::noinline]] std::uint32_t search_part(Key want, Class wildcards);
  // Short and deep queues have functions of their own: fewer values to keep in
  // registers.
  [[gnu::noinline]] Handle append_short(Key key, void* item);
  [[gnu::noinline]] Handle append_deep(Key key, void* item);
  [[gnu::noinline]] void* take_short(Key with);
  [[gnu::noinline]] void* take_deep(Key with);
  [[gnu::noinline]] void* take_wild(Key with);
  std::uint32_t fill(Key key, void* item);
  void reserve_links(Class wildcards);
  void count_wild(Class wildcards, std::uint32_t change) {
    class_count_[wildcards] += change;
    wild_count_ += change;
    short_limit_ = short_with_wildcards;
  }
  void link(std::uint32_t slot, Key key, Class wildcards);
  void unlink_short(std::uint32_t slot);
  void* remove_deep(const Found& found);
  void* release(std::uint32_t slot);
  template <class Use>
  void each_in_order(Use&& use) const;
  [[gnu::noinline, gnu::cold]] bool stays_short(Key key);
  [[gnu::noinline, gnu::cold]] void go_deep();
  [[gnu::noinline, gnu::cold]] bool back_to_short();
  [[gnu::noinline, gnu::cold]] void renumber();
  [[gnu::noinline, gnu::cold]] void go_short();
  [[gnu::noinline, gnu::cold]] void drop();

  Slots slots_;
  std::uint32_t count_ = 0;
  bool deep_ = false;
  std::uint32_t short_limit_ = short_length;  // the other one once a wildcard was seen
  std::uint32_t first_ = none;                // ends of a short queue
  std::uint32_t last_ = none;
  KeyIndex exact_;
  // Receives with wildcards have an index of their own: it is small, and every
  // message searches it.
  KeyIndex wild_;
  std::uint32_t wild_count_ = 0;
  std::array<std::uint32_t, 4> class_count_{};  // receives in a deep queue, by wildcards (not 0)
  PartIndex parts_;                             // messages only
  std::uint32_t next_sequence_;
};

}  // namespace hob::match::flat
