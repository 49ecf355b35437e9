#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "match/flat/slots.hpp"

namespace hob::match::flat {

/// Up to eight entries, found by comparing four at a time without a branch: which of them matches
/// cannot be predicted. They are where the queue itself is, so that a search after a computation,
/// with cold caches, misses only the lines of the entries.
class ShortQueue {
 public:
  static constexpr std::uint32_t kMost = 8;

  struct alignas(32) Entry {
    std::uint64_t place;  ///< with context: the key
    std::uint64_t bits;   ///< of a receive's place that a message's is compared in
    void* item;
    std::uint32_t context;
    std::uint32_t sequence;  ///< place in the order

    Key key() const { return {place, context}; }
  };
  static_assert(sizeof(Entry) == 32);

  /// `first_sequence`: where the numbering starts, so that a test can reach its end.
  explicit ShortQueue(std::uint32_t first_sequence = 0) : next_sequence_(first_sequence) {}

  const Entry& operator[](std::uint32_t i) const { return entries_[i]; }

  /// Whether append() needs a renumber() before.
  bool numbers_used_up() const { return next_sequence_ == kNone; }

  /// Gives new sequence numbers from 0 on, in the same order.
  void renumber() {
    std::array<std::uint32_t, kMost> order{};
    std::uint32_t count = 0;
    each_in_order([&](std::uint32_t i) { order[count++] = i; });
    for (std::uint32_t i = 0; i < count; ++i) entries_[order[i]].sequence = i;
    next_sequence_ = count;
  }

  /// While there are less than `kMost`, and numbers. Returns its number, which it keeps.
  [[gnu::always_inline]] std::uint32_t append(Key key, std::uint64_t bits, void* item) {
    auto i = static_cast<std::uint32_t>(std::countr_one(live_));
    entries_[i] = {key.place, bits, item, key.context, next_sequence_++};
    live_ |= 1u << i;
    return i;
  }

  void remove(std::uint32_t i) { live_ &= ~(1u << i); }

  /// The oldest that `with` goes with, or none; places are compared in the bits that bits(entry)
  /// gives.
  template <class Bits>
  [[gnu::always_inline]] std::uint32_t find(Key with, Bits&& bits) const {
    std::uint32_t hits = 0;
    auto compare_four = [&](std::uint32_t from) {
      for (std::uint32_t i = from; i < from + 4; ++i) {
        const Entry& there = entries_[i];
        std::uint64_t differs =
            ((there.place ^ with.place) & bits(there)) | (there.context ^ with.context);
        hits |= std::uint32_t{differs == 0} << i;
      }
    };
    compare_four(0);
    if (live_ >= 1u << 4) compare_four(4);
    return oldest_of(hits & live_);
  }

  /// The oldest of this communicator, or none.
  std::uint32_t oldest(std::uint32_t context) const {
    return find({0, context}, [](const Entry&) { return std::uint64_t{0}; });
  }

  /// Calls use(number) for all, in order.
  template <class Use>
  void each_in_order(Use&& use) const {
    for (std::uint32_t left = live_; left != 0;) {
      std::uint32_t i = oldest_of(left);
      use(i);
      left &= ~(1u << i);
    }
  }

  void clear() { live_ = 0; }

 private:
  [[gnu::always_inline]] std::uint32_t oldest_of(std::uint32_t some) const {
    if (some == 0) return kNone;
    auto best = static_cast<std::uint32_t>(std::countr_zero(some));
    for (some &= some - 1; some != 0; some &= some - 1) {
      auto i = static_cast<std::uint32_t>(std::countr_zero(some));
      if (entries_[i].sequence < entries_[best].sequence) best = i;
    }
    return best;
  }

  std::uint32_t live_ = 0;  // a bit for each entry
  std::uint32_t next_sequence_;
  std::array<Entry, kMost> entries_{};
};

}  // namespace hob::match::flat
