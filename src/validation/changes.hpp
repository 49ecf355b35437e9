// What the processes of a communicator report to each other in a collective call: which targets of
// which windows may have changed (docs/consistency.md, "What no process wrote"). Pure.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "validation/target_set.hpp"

namespace hob::validation {

/// A set of (window, target), of a size that does not depend on how many there are. Up to kTargets
/// of them have a bit each, and the union of two sets is the bitwise or of their words: MPI
/// libraries are fastest with that. More are kept in a TargetSet, which is united by unite(). All
/// members of a communicator use the same form, since all know how many targets there are. Not
/// thread safe.
class Changes {
 public:
  static constexpr std::size_t kTargetWords = 8;
  static constexpr std::size_t kTargets = kTargetWords * 64;
  /// The first word alone says whether a member asks, whether anything may have changed, how far
  /// may be read ahead, and what is asked and reported of edges. MPI libraries send one word as
  /// fast as a barrier, and some of them two half as fast.
  static constexpr std::size_t kSummaryWords = 1;
  static constexpr std::size_t kWords = kTargetWords + 2;

  /// The report, where a bit for each does not do.
  struct Large {
    std::uint64_t summary = 0;
    std::uint64_t windows = 0;
    TargetSet targets;

    void unite(const Large& other) {
      summary |= other.summary;
      windows |= other.windows;
      targets.unite(other.targets);
    }
  };

  /// Before anything is added: for so many targets of each window, and in all.
  void begin(std::uint64_t members, std::uint64_t targets) {
    large_ = targets > kTargets;
    if (!large_) return;
    rank_bits_ = static_cast<unsigned>(std::bit_width(members - 1));
    many_ = {};
  }

  /// More targets than bits: unite() takes the place of the bitwise or.
  bool large() const { return large_; }

  /// Memory that `rank` shows in the window may have been written. `window` is the number that all
  /// members of the window know it by.
  void add(std::uint64_t window, int rank) {
    summary() |= kAny;
    if (large_)
      many_.targets.add(number(window, rank));
    else
      words_[word_of(window, rank)] |= bit_of(window, rank);
  }

  /// Of any target of the window.
  void add_all(std::uint64_t window) {
    summary() |= kAny;
    windows() |= std::uint64_t{1} << window % kWordBits;
  }

  /// Edges of this process's memory in the window are compared (edges.hpp): copies of edges that
  /// were fetched since the last call may be of bytes that were there in between.
  void doubt_edges(std::uint64_t window) { summary() |= kDoubted << edge_place(window); }
  bool edges_doubted(std::uint64_t window) const {
    return (summary() & kDoubted << edge_place(window)) != 0;
  }
  /// This process has such copies, and wants to know what the edges are.
  void want_edges(std::uint64_t window) { summary() |= kWanted << edge_place(window); }
  /// Those windows, by edge_place(), whose members show each other their edges: some doubt and some
  /// want.
  std::uint64_t edges_to_show() const {
    const std::uint64_t places = (std::uint64_t{1} << kEdgePlaces) - 1;
    return summary() >> kFirstDoubted & summary() >> (kFirstDoubted + kEdgePlaces) & places;
  }
  /// Windows share these places.
  static unsigned edge_place(std::uint64_t window) {
    return static_cast<unsigned>(window % kEdgePlaces);
  }

  /// This process gains by copies that outlive collective calls, or would like to find out.
  void ask() { summary() |= kAsked; }

  /// Of the memory that this process shows in some window, not all may be read unasked.
  void keep_to_pages() { summary() |= kPagesOnly; }

  /// Anything may have changed, in every window.
  void add_everything() { summary() = windows() = ~std::uint64_t{0}; }

  bool may_have_changed(std::uint64_t window) const {
    return (windows() >> window % kWordBits & 1) != 0;
  }
  bool may_have_changed(std::uint64_t window, int rank) const {
    if (may_have_changed(window)) return true;
    if (large_) return many_.targets.has(number(window, rank));
    return (words_[word_of(window, rank)] & bit_of(window, rank)) != 0;
  }
  bool asked() const { return (summary() & kAsked) != 0; }
  bool pages_only() const { return (summary() & kPagesOnly) != 0; }
  bool any() const { return (summary() & kAny) != 0; }

  /// What is sent: kSummaryWords, or all kWords. Of a large set, the summary alone.
  std::uint64_t* words() { return large_ ? &many_.summary : words_.data(); }
  /// What is sent of a large set.
  Large& many() { return many_; }
  const Large& many() const { return many_; }

 private:
  static constexpr std::uint64_t kWordBits = 64;
  static constexpr std::uint64_t kEdgePlaces = 30;
  // Bits of the first word.
  static constexpr std::uint64_t kAsked = 1, kAny = 2, kPagesOnly = 4;
  static constexpr unsigned kFirstDoubted = 4;  ///< then as many that are wanted
  static constexpr std::uint64_t kDoubted = 1 << kFirstDoubted, kWanted = kDoubted << kEdgePlaces;

  /// Windows begin at different places, so that the first ranks of two seldom share a bit.
  static std::uint64_t place_of(std::uint64_t window, int rank) {
    constexpr std::uint64_t kStride = 197;
    return (window * kStride + static_cast<std::uint64_t>(rank)) % kTargets;
  }
  static std::size_t word_of(std::uint64_t window, int rank) {
    return kSummaryWords + place_of(window, rank) / kWordBits;
  }
  static std::uint64_t bit_of(std::uint64_t window, int rank) {
    return std::uint64_t{1} << place_of(window, rank) % kWordBits;
  }
  std::uint64_t number(std::uint64_t window, int rank) const {
    return (window << rank_bits_) + static_cast<std::uint64_t>(rank);
  }

  std::uint64_t& summary() { return *words(); }
  std::uint64_t summary() const { return large_ ? many_.summary : words_[0]; }
  std::uint64_t& windows() { return large_ ? many_.windows : words_[kWords - 1]; }
  std::uint64_t windows() const { return large_ ? many_.windows : words_[kWords - 1]; }

  bool large_ = false;
  unsigned rank_bits_ = 0;
  std::array<std::uint64_t, kWords> words_{};
  Large many_;
};

}  // namespace hob::validation
