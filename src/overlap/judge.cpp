#include "overlap/judge.hpp"

#include <algorithm>

namespace hob::overlap {
namespace {

/// One phase in so many is left alone in the first trial, chosen by chance, so that nothing
/// periodic in the program meets it; and after each trial that paid, so many times as many are
/// helped.
constexpr std::uint64_t kFirstAloneOneIn = 2;
constexpr std::uint64_t kAloneFactor = 4;
constexpr std::uint64_t kLastAloneOneIn = 128;

/// A trial is decided when so many of each kind were seen: waits differ from each other by a few
/// times their length, so fewer tell nothing.
constexpr double kPhasesOfEach = 8;

/// Help pays if it makes waits shorter by this factor.
constexpr double kPays = 0.97;

/// Phases without help after a trial that did not pay; four times as many after the next one.
constexpr std::uint64_t kFirstRest = 256;
constexpr std::uint64_t kRestFactor = 4;
constexpr std::uint64_t kLongestRest = 1 << 20;

}  // namespace

Judge::Judge(bool always, std::uint64_t seed)
    : always_(always), random_(seed), alone_one_in_(kFirstAloneOneIn) {}

bool Judge::begin() {
  if (always_)
    helps_ = true;
  else if (resting_ > 0)
    helps_ = false;
  else
    helps_ = random_.below(alone_one_in_) != 0;
  return helps_;
}

void Judge::end(std::uint64_t outside_ns, std::uint64_t waited_ns) {
  if (outside_ns == 0) return;
  (helps_ ? helped_ : alone_) += 1;
  if (always_) return;
  if (resting_ > 0) {
    --resting_;
    return;
  }
  Waits& waits = helps_ ? with_ : without_;
  waits.phases += 1;
  waits.ns += static_cast<double>(waited_ns);
  if (with_.phases >= kPhasesOfEach && without_.phases >= kPhasesOfEach) decide();
}

void Judge::decide() {
  if (with_.mean() <= kPays * without_.mean()) {
    saved_ns_ += with_.phases * (without_.mean() - with_.mean());
    last_rest_ = 0;
    alone_one_in_ = std::min(alone_one_in_ * kAloneFactor, kLastAloneOneIn);
  } else {
    alone_one_in_ = kFirstAloneOneIn;
    last_rest_ = std::clamp(last_rest_ * kRestFactor, kFirstRest, kLongestRest);
    resting_ = last_rest_;
  }
  with_ = without_ = {};
}

std::uint64_t Judge::saved_ns() const {
  return static_cast<std::uint64_t>(std::max(0.0, saved_ns_));
}

}  // namespace hob::overlap
