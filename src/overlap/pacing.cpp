#include "overlap/pacing.hpp"

#include <algorithm>

namespace hob::overlap {
namespace {

/// A poll that took this multiple of an empty one's time, and this much more, moved something:
/// clocks and cache misses alone make a poll of some hundred nanoseconds twice as long.
constexpr double kLonger = 3;
constexpr double kLongerNs = 3000;

/// How fast what an empty poll takes follows longer ones. Shorter ones count at once.
constexpr double kForgets = 0.02;

}  // namespace

std::uint64_t Pacing::polled(bool useful, std::uint64_t cost_ns, std::uint64_t now_ns,
                             bool event_driven) {
  budget_.passed(now_ns);
  if (useful) {
    rest_ns_.reset();
    return rest_ns_.now();
  }
  budget_.spent(static_cast<double>(cost_ns));
  const std::uint64_t rest = std::max(rest_ns_.now(), inside_ns_.now());
  if (event_driven) {
    rest_ns_.lengthen(config_.longest_event_driven_ns);
    rest_ns_.lengthen(config_.longest_event_driven_ns);
  } else {
    rest_ns_.lengthen();
  }
  if (!exhausted()) return rest;
  // So long that the share is kept; with none at all, as long as can be.
  if (config_.share <= 0) return config_.longest_ns;
  return std::max(rest, budget_.time_owed());
}

bool PollMeter::moved(std::uint64_t took_ns) {
  const auto took = static_cast<double>(took_ns);
  if (took < empty_ns_) {
    empty_ns_ = took;
    return false;
  }
  const bool moved = took > kLonger * empty_ns_ && took > empty_ns_ + kLongerNs;
  // Slower ones count a little even so: the machine may have become slower for good.
  empty_ns_ += (moved ? kForgets / 10 : kForgets) * (took - empty_ns_);
  return moved;
}

}  // namespace hob::overlap
