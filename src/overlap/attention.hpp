// Whether large operations that start are looked at: programs that start one and wait for it at
// once, or ask for its end again and again, leave nothing to help with.
#pragma once

#include <cstdint>

#include "base/published.hpp"
#include "pay/backoff.hpp"

namespace hob::overlap {

/// Of the phases of a process (judge.hpp): those that leave time to compute are all looked at;
/// after some that leave none, ever more starts are passed over. Looking costs some 0.1 us a start,
/// and some 12 us with help, since that wakes a thread (the first time 100 to 200 us, since it
/// makes that thread): there is no help before one was seen that leaves time, nor after a few that
/// do not.
class Attention {
 public:
  static constexpr int kVainPhases = 32;
  static constexpr int kVainHelps = 2;

  /// An operation starts with nothing under way: whether it is passed over; else a phase begins
  /// with it. Of any threads, which may count two of them as one.
  bool passes_over() {
    const std::uint64_t left = passed_over_.get();
    if (left != 0) passed_over_.set(left - 1);
    return left != 0;
  }
  bool is_due() const { return passed_over_.get() == 0; }

  /// A phase that begins may be helped.
  bool may_help() const { return vain_helps_ < kVainHelps; }

  /// A phase has ended; `computed`: it left time for that.
  void ended(bool computed) {
    if (computed) {
      vain_ = vain_helps_ = 0;
      pauses_.reset();
      return;
    }
    if (may_help()) ++vain_helps_;
    if (++vain_ == kVainPhases) {
      vain_ = 0;
      passed_over_.set(pauses_.next());
    }
  }

 private:
  int vain_ = 0;
  int vain_helps_ = kVainHelps;           ///< since one left time
  Published<std::uint64_t> passed_over_;  ///< starts, from now on
  pay::Backoff<> pauses_{{.first = 128, .longest = 1 << 15, .times = 4}};
};

}  // namespace hob::overlap
