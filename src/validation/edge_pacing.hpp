// When a process asks the members of a window to show their edges (edges.hpp). Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hob::validation {

/// What is fetched from edges once and read again and again is in doubt once. A process that
/// fetches other bytes of them all the time asks at growing intervals. Counts calls in which edges
/// were doubted. Not thread safe.
class EdgePacing {
 public:
  bool due() const { return left_ == 0; }

  /// After a call: whether copies of edges were fetched since the last one, and whether members
  /// have shown their edges in this one.
  void notified(bool fetched, bool shown) {
    if (!fetched) {
      left_ = pause_ = 0;
    } else if (shown) {
      left_ = pause_;
      pause_ = std::min(2 * pause_ + 1, kLongestPause);
    } else if (left_ != 0) {
      --left_;
    }
  }

 private:
  static constexpr std::uint32_t kLongestPause = 127;
  std::uint32_t pause_ = 0, left_ = 0;
};

}  // namespace hob::validation
