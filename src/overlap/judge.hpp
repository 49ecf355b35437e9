// Whether help pays: the waits of phases with help are compared with those of phases without, and
// what help moved is looked at, since others may have waited for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pay/backoff.hpp"
#include "pay/price_range.hpp"
#include "pay/sampled.hpp"

namespace hob::overlap {

/// What is known of a phase when it has ended. Times in ns.
struct Phase {
  std::uint64_t outside_ns = 0;  ///< it left at least so much time to compute
  std::uint64_t waited_ns = 0;   ///< the program waited so long within the library
  bool moved = false;            ///< the helper moved something meanwhile
};

/// A phase: from the start of something that the helper could advance until nothing is under way.
/// Used by the program's threads, one at a time.
///
/// A message moves only if both its ends do, and what one end gains may be the other's help: so
/// ranks with the same phases leave the same ones alone, whatever each has decided; one whose own
/// waits do not get shorter goes on if it moves something, unless its phases get longer by it; and
/// those that have stopped try again together.
class Judge {
 public:
  /// `always`: help in every phase, and measure nothing. `seed`: the same on all ranks.
  Judge(bool always, std::uint64_t seed);

  /// A phase begins. Whether the helper is to help in it; `may_help`: else it cannot pay now.
  bool begin(bool may_help = true);

  /// It has ended. Phases that left no time to compute say nothing and are not counted.
  void end(const Phase& phase);

  /// By how many ns all waits together were shorter than without help, as phases without it show:
  /// with the standard error on either side.
  pay::SavedRange saved() const;

  /// Phases that were helped, and those without help, to compare with or since help did not
  /// pay.
  std::uint64_t helped() const { return helped_; }
  std::uint64_t alone() const { return alone_; }

  /// Help has been found not to pay; it is tried again at growing intervals, and once before that
  /// if waits get longer.
  bool resting() const { return begun_ < rest_ends_; }

 private:
  /// Of lengths in ns.
  struct Mean {
    double ns = 0;
    double error = 0;  // the square of its standard error
  };
  struct Waits {
    static constexpr std::size_t kKept = 32;
    double phases = 0;
    double moved = 0;  // phases
    double ns = 0;
    pay::Sampled<double, kKept> waited;
    pay::Sampled<double, kKept> whole;  // the phases, computing included
    double mean() const { return phases > 0 ? ns / phases : 0; }
    void add(const Phase& phase);
  };
  static Mean mean_of(std::span<const double> lengths);

  bool is_skipped(std::uint64_t phase) const;
  bool pays(const Mean& with, const Mean& without) const;  ///< the waits of this trial
  bool phases_got_longer() const;
  void decide();
  void rest();
  void watch_rest(const Phase& phase);

  bool always_;
  std::uint64_t seed_;
  std::uint64_t begun_ = 0;  // phases, the present one included
  bool helps_ = false;
  /// One phase in so many has no help, chosen by chance, so that nothing periodic in the program
  /// meets it; fewer after each trial that paid. Powers of two: those without help later are among
  /// those without help before.
  pay::Backoff<> alone_one_in_{{.first = 2, .longest = 128, .times = 4}};
  Waits with_;                   // of this trial
  Waits without_;                // of this trial
  std::uint64_t rest_ends_ = 0;  // the next trial begins with this phase
  /// Phases without help after a trial that did not pay. Rests end at multiples of them, so that
  /// ranks which began to rest one after the other end together.
  pay::Backoff<> rests_{{.first = 256, .longest = 1 << 20, .times = 4}};
  Waits resting_;                  // of the last phases of this rest
  double tried_ns_ = 0;            // the mean wait of the trial before
  std::uint64_t early_until_ = 0;  // a trial before the end of a rest, which goes on until then
  std::uint64_t helped_ = 0;
  std::uint64_t alone_ = 0;
  double saved_ns_ = 0;       // may be less than nothing
  double saved_squares_ = 0;  // of its standard error
};

}  // namespace hob::overlap
