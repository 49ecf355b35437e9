// What the processes of a communicator tell each other in a collective call: which targets of which
// windows may have changed (docs/consistency.md, "What nobody wrote"). Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hob::validation {

/// A set of (window, target), of a size that does not depend on how many there are: two that share
/// a bit change together. The union of two such sets is the bitwise or of their words, which is how
/// processes add theirs up. Not thread safe.
class Changes {
 public:
  static constexpr std::size_t kTargetWords = 8;
  static constexpr std::size_t kWords = kTargetWords + 2;
  /// The first word alone says whether somebody asks, and whether anything may have changed. MPI
  /// libraries send one word as fast as a barrier, and some of them two half as fast.
  static constexpr std::size_t kSummaryWords = 1;

  /// Memory that `rank` shows in the window may have been written. `window` is the number that all
  /// members of the window know it by.
  void add(std::uint64_t window, int rank) { set(target_bit(window, rank)); }

  /// Of any target of the window.
  void add_all(std::uint64_t window) { set(window_bit(window)); }

  /// This process gains by copies that outlive collective calls, or would like to find out.
  void ask() { words_[0] |= kAsked; }

  /// Anything may have changed, in every window.
  void add_everything() { words_.fill(~std::uint64_t{0}); }

  bool may_have_changed(std::uint64_t window) const { return test(window_bit(window)); }
  bool may_have_changed(std::uint64_t window, int rank) const {
    return may_have_changed(window) || test(target_bit(window, rank));
  }
  bool asked() const { return (words_[0] & kAsked) != 0; }
  bool any() const { return (words_[0] & kAny) != 0; }

  std::uint64_t* words() { return words_.data(); }

 private:
  static constexpr std::uint64_t kWordBits = 64;
  static constexpr std::uint64_t kTargets = kTargetWords * kWordBits;
  static constexpr std::uint64_t kAsked = 1, kAny = 2;  ///< bits of the first word

  /// Windows begin at different places, so that the first ranks of two seldom share a bit.
  static std::uint64_t target_bit(std::uint64_t window, int rank) {
    constexpr std::uint64_t kStride = 197;
    return (window * kStride + static_cast<std::uint64_t>(rank)) % kTargets;
  }
  static std::uint64_t window_bit(std::uint64_t window) { return kTargets + window % kWordBits; }

  void set(std::uint64_t bit) {
    words_[0] |= kAny;
    words_[kSummaryWords + bit / kWordBits] |= std::uint64_t{1} << bit % kWordBits;
  }
  bool test(std::uint64_t bit) const {
    return (words_[kSummaryWords + bit / kWordBits] >> bit % kWordBits & 1) != 0;
  }

  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace hob::validation
