// Whether help pays: the waits of phases with help are compared with those of phases without.
#pragma once

#include <cstdint>

#include "base/random.hpp"

namespace hob::overlap {

/// A phase: from the start of something that the helper could advance until nothing is under way.
/// Used by the program's threads, one at a time.
class Judge {
 public:
  /// `always`: help in every phase, and measure nothing. Where all ranks have the same `seed` and
  /// the same phases, they leave the same ones alone: a message moves only if both its ends do.
  Judge(bool always, std::uint64_t seed);

  /// A phase begins. Whether the helper is to help in it.
  bool begin();

  /// It has ended. It left at least `outside_ns` to compute, and the program waited for `waited_ns`
  /// within the library. Phases that left no time say nothing and are not counted.
  void end(std::uint64_t outside_ns, std::uint64_t waited_ns);

  /// By how much all waits together were shorter than without help, as phases without it tell.
  std::uint64_t saved_ns() const;

  /// Phases that were helped, and those that were left alone to compare with or since help did not
  /// pay.
  std::uint64_t helped() const { return helped_; }
  std::uint64_t alone() const { return alone_; }

  /// Help has been found not to pay; it is tried again ever more rarely.
  bool resting() const { return resting_ > 0; }

 private:
  void decide();

  struct Waits {
    double phases = 0;
    double ns = 0;
    double mean() const { return phases > 0 ? ns / phases : 0; }
  };

  bool always_;
  Random random_;
  bool helps_ = false;
  std::uint64_t alone_one_in_;
  Waits with_;                   // of this trial
  Waits without_;                // of this trial
  std::uint64_t resting_ = 0;    // phases until the next trial
  std::uint64_t last_rest_ = 0;  // how many there were the last time
  std::uint64_t helped_ = 0;
  std::uint64_t alone_ = 0;
  double saved_ns_ = 0;
};

}  // namespace hob::overlap
