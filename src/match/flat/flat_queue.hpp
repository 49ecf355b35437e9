#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "match/engine_of.hpp"
#include "match/flat/key_index.hpp"
#include "match/flat/order_logs.hpp"
#include "match/flat/slots.hpp"
#include "match/memory.hpp"

namespace hob::match::flat {

/// What the entries of a queue are: receives may have wildcards, messages have none (the receives
/// that look for them may).
enum class Side { receives, messages };

/// A queue in which the cost of a search does not depend on the length.
///
/// Up to `short_length` entries it is a plain list. Beyond, entries are found by key. A receive's
/// key is its envelope, wildcards as they stand, so that there are four classes of keys; a message
/// looks up its own four keys (those of classes that are empty are left out) and takes the entry
/// with the lowest sequence number. A message is indexed by its full envelope; the indexes by
/// (communicator, source) and (communicator, tag) are made when a receive with such a wildcard
/// first searches a long queue, and kept while it stays long; the order of arrival serves receives
/// that have both wildcards.
///
/// Everything happens in amortised O(1). Not thread safe.
template <Side side>
class FlatQueue {
 public:
  /// Entries at which the queue changes to keys, and at which it changes back.
  static constexpr std::uint32_t short_length = 8;
  static constexpr std::uint32_t back_to_short = 4;
  /// Memory for more entries than this is given back when the queue becomes empty.
  static constexpr std::size_t keep_capacity = std::size_t{1} << 18;

  /// `first_sequence`: where the numbering starts, so that a test can reach its end.
  explicit FlatQueue(Memory& memory, std::uint32_t first_sequence = 1)
      : slots_(memory),
        index_(memory),
        wild_index_(memory),
        logs_(memory),
        by_source_(memory),
        by_tag_(memory),
        next_sequence_(first_sequence) {}

  Handle append(const Envelope& envelope, void* item);
  void* take(const Envelope& with);
  std::optional<QueueEntry> find(const Envelope& want);
  void* remove(Handle handle);
  std::optional<QueueEntry> oldest(std::uint32_t context) const;
  void collect(std::uint32_t context, std::vector<QueueEntry>& out) const;
  std::size_t size() const { return count_; }

 private:
  /// Keys of the main index: envelopes as they stand, links in the slots.
  struct Whole {
    Slots* slots;
    Envelope key(std::uint32_t slot) const { return (*slots)[slot].envelope(); }
    Links& links(std::uint32_t slot) const { return (*slots)[slot].links; }
    void is_first(std::uint32_t, bool) const {}  // found by searching
  };

  /// Links of an index by part, and what saves removals a search.
  struct PartLinks {
    Links links;
    std::uint32_t hash;   ///< of the key
    std::uint32_t first;  ///< it is the key's oldest
  };

  /// Keys with one part replaced by its wildcard, links in an array of their own.
  template <bool keep_source>
  struct Part {
    Slots* slots;
    Array<PartLinks>* ring;
    static Envelope key_of(const Envelope& envelope) {
      return {envelope.context, keep_source ? envelope.source : any_source,
              keep_source ? any_tag : envelope.tag};
    }
    Envelope key(std::uint32_t slot) const { return key_of((*slots)[slot].envelope()); }
    Links& links(std::uint32_t slot) const { return (*ring)[slot].links; }
    void is_first(std::uint32_t slot, bool first) const { (*ring)[slot].first = first; }
  };

  /// An index of messages by part of their envelopes, made on demand.
  template <bool keep_source>
  struct PartIndex {
    explicit PartIndex(Memory& memory) : index(memory), ring(memory) {}
    Part<keep_source> access(Slots& slots) { return {&slots, &ring}; }
    void reserve(Slots& slots);
    void append(Slots& slots, std::uint32_t slot, const Envelope& envelope);
    void remove(Slots& slots, std::uint32_t slot);
    std::uint32_t oldest(Slots& slots, const Envelope& want, std::uint32_t hash);
    void drop();

    KeyIndex<Part<keep_source>, 4> index;
    Array<PartLinks> ring;
    bool on = false;
  };

  /// What a search by key found.
  struct Found {
    std::uint32_t slot;  ///< or none
    std::uint32_t hash;  ///< of its envelope, if `first`
    bool first;          ///< it is known to be the oldest with its envelope
    bool wild;           ///< it is in wild_index_
  };

  static bool fits(const Slot& slot, const Envelope& with);
  static bool is_wild(const Envelope& envelope) {
    return side == Side::receives &&
           ((envelope.source == any_source) | (envelope.tag == any_tag)) != 0;
  }
  Whole whole() { return {&slots_}; }
  QueueEntry entry(std::uint32_t slot) const {
    return {slots_[slot].envelope(), slots_[slot].item, slot};
  }

  std::uint32_t search_short(const Envelope& with) const;
  Found search_keys(const Envelope& with);
  void link(std::uint32_t slot, const Envelope& envelope);
  void unlink(const Found& found, const Envelope& envelope);
  Found known(std::uint32_t slot);
  void append_short(std::uint32_t slot);
  void unlink_short(std::uint32_t slot);
  void* remove_deep(const Found& found);
  void* release(std::uint32_t slot);
  void count_wildcards(const Envelope& envelope, std::uint32_t change);
  void reserve_links(const Envelope& envelope);
  [[gnu::noinline, gnu::cold]] void go_deep();
  [[gnu::noinline, gnu::cold]] void go_short();
  [[gnu::noinline, gnu::cold]] void renumber();
  [[gnu::noinline, gnu::cold]] void drop();
  template <class Index>
  [[gnu::noinline, gnu::cold]] void make_part(Index& part);

  Slots slots_;
  KeyIndex<Whole> index_;
  // Receives with wildcards. Every message looks for them, mostly in vain: hence more chains.
  KeyIndex<Whole, 16> wild_index_;
  std::uint32_t count_ = 0;
  bool deep_ = false;
  std::uint32_t first_ = none;  // ends of a short queue
  std::uint32_t last_ = none;
  // Receives in the queue with a wildcard source only, tag only, both (deep queues only).
  std::uint32_t any_source_only_ = 0;
  std::uint32_t any_tag_only_ = 0;
  std::uint32_t any_both_ = 0;
  OrderLogs logs_;
  PartIndex<true> by_source_;
  PartIndex<false> by_tag_;
  std::uint32_t next_sequence_;
};

}  // namespace hob::match::flat
