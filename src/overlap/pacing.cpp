#include "overlap/pacing.hpp"

#include <algorithm>

namespace hob::overlap {
namespace {

/// A poll that took so many times an empty one's time, and so much more, moved something: clocks
/// and cache misses alone make a poll of some hundred nanoseconds twice as long.
constexpr double kLonger = 3;
constexpr double kLongerNs = 3000;

/// How fast what an empty poll takes follows longer ones. Shorter ones count at once.
constexpr double kForgets = 0.02;

}  // namespace

std::uint64_t Pacing::looked(bool useful, std::uint64_t cost_ns, std::uint64_t now_ns,
                             bool announced) {
  const auto allowance = static_cast<double>(config_.allowance_ns);
  credit_ns_ += config_.share * static_cast<double>(now_ns - last_ns_);
  credit_ns_ = std::min(credit_ns_, allowance);
  last_ns_ = now_ns;
  if (useful) {
    rest_ns_ = config_.shortest_ns;
    return rest_ns_;
  }
  credit_ns_ -= static_cast<double>(cost_ns);
  const std::uint64_t rest = std::max(rest_ns_, least_rest());
  rest_ns_ = announced ? std::min(rest_ns_ * 4, config_.longest_announced_ns)
                       : std::min(rest_ns_ * 2, config_.longest_ns);
  if (credit_ns_ >= 0) return rest;
  // So long that the share is kept; with none at all, as long as can be.
  if (config_.share <= 0) return config_.longest_ns;
  return std::max(rest, static_cast<std::uint64_t>(-credit_ns_ / config_.share));
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
