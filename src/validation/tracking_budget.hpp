// What finding out whether memory was stored to may cost. Pure.
#pragma once

#include "pay/budget.hpp"

namespace hob::validation {

/// Nanoseconds: 5% of the time, and so many at once.
inline constexpr double kTrackingAtOnce = 10e6;
inline constexpr pay::Budget::Config kTrackingBudget{
    .share = 0.05, .first = kTrackingAtOnce, .most = kTrackingAtOnce};

/// Nanoseconds that the first store to a page takes which is watched (measured: 850 to 1,800).
inline constexpr double kFaultNs = 1500;

}  // namespace hob::validation
