#pragma once

#include <cstdint>
#include <vector>

#include "base/histogram.hpp"

namespace hob::match {

/// What a DepthMeter has seen. Lengths and depths are numbers of entries.
struct DepthStats {
  std::uint64_t appended = 0;    ///< entries that were queued
  std::uint64_t matched = 0;     ///< entries that a search found and removed
  std::uint64_t withdrawn = 0;   ///< entries removed without a search (cancelled)
  std::uint64_t missed = 0;      ///< searches that found nothing and so inspected the whole queue
  std::uint64_t estimated = 0;   ///< of matched: the depth is an estimate (queue beyond the limit)
  std::uint64_t depth_sum = 0;   ///< sum of the depths of matched
  std::uint64_t max_length = 0;  ///< longest that the queue has been
  Log2Histogram length;          ///< length after every addition and every removal
  Log2Histogram depth;           ///< entries inspected by every search, missed ones included

  /// Adds up what two meters have seen.
  void add(const DepthStats& other);
};

/// Follows one queue: how long it is and how deep a plain linked list would have been
/// searched, whatever really holds the queue: the depth of a match is the number of entries queued
/// before it and still there, plus one. Exact up to `limit` entries; beyond, the depth of the
/// entries that came too late is estimated as the middle of their range, and counted as such.
///
/// Every call costs O(log n) amortised, a few nanoseconds for short queues, and never walks the
/// queue. Memory is 8 bytes an entry at most, of up to `limit` entries.
/// Not thread safe: the caller serialises all calls.
class DepthMeter {
 public:
  /// Names a queued entry; given out in increasing order, never reused.
  using Ticket = std::uint64_t;

  explicit DepthMeter(std::uint32_t limit = 1u << 20);

  /// An entry is queued at the end. Throws std::bad_alloc.
  Ticket append();

  /// A search found this entry and removes it. Returns the depth: 1 for the oldest entry.
  std::uint64_t match(Ticket entry) {
    // Most often it is the oldest.
    if (entry != oldest_ || entry < first_new_) return match_any(entry);
    ++oldest_;
    remove(static_cast<std::uint32_t>(entry - first_new_ + old_.size()));
    count_match(1);
    return 1;
  }

  /// An entry is removed without a search.
  void withdraw(Ticket entry);

  /// A search that found nothing: its depth is the length.
  void miss();

  /// Entries now in the queue.
  std::uint64_t length() const { return tracked_ + untracked_; }

  const DepthStats& stats() const { return stats_; }

 private:
  static constexpr Ticket kUntrackedBit = Ticket{1} << 63;
  static constexpr std::uint32_t kWordBits = 64;

  static std::uint32_t lowest_bit(std::uint32_t value) { return value & (0u - value); }

  void count_match(std::uint64_t depth) {
    ++stats_.matched;
    stats_.depth_sum += depth;
    stats_.depth.add(depth);
    stats_.length.add(length());
  }

  void remove(std::uint32_t position) {
    const std::uint32_t word = position / kWordBits;
    live_[word] &= ~(std::uint64_t{1} << position % kWordBits);
    const auto words = static_cast<std::uint32_t>(live_.size());
    for (std::uint32_t i = word + 1; i < words; i += lowest_bit(i)) --sums_[i];
    --tracked_;
  }

  std::uint64_t match_any(Ticket entry);
  std::uint32_t position(Ticket entry) const;
  std::uint32_t live_before(std::uint32_t position) const;
  void make_room();

  // Entries have positions in the order of their tickets. A bit says whether the entry is still
  // there; a Fenwick tree sums the bits by words. Removed entries keep their position until room
  // is needed; then the live ones move together, and `old_` keeps their tickets.
  std::vector<std::uint64_t> live_;  // bit per position
  std::vector<std::uint32_t> sums_;  // Fenwick tree of all but the last word's populations, 1-based
  std::vector<Ticket> old_;          // tickets of the positions before old_.size(), ascending
  Ticket first_new_ = 0;             // ticket of position old_.size(); later ones follow on
  std::uint32_t used_ = 0;           // positions given out
  Ticket oldest_ = 0;  // all live entries that have a position have this ticket or a later one
  std::uint32_t tracked_ = 0;    // live entries that have a position
  std::uint64_t untracked_ = 0;  // live entries beyond the limit
  Ticket next_untracked_ = kUntrackedBit;
  std::uint32_t limit_;
  DepthStats stats_;
};

}  // namespace hob::match
