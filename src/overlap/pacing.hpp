// How often a helper polls: sooner while its polls move something, at growing intervals while not,
// and never for more than a share of the processor without a result.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pay/backoff.hpp"
#include "pay/budget.hpp"

namespace hob::overlap {

/// Set once. Times in nanoseconds.
struct PacingConfig {
  std::uint64_t shortest_ns = 50'000;    ///< from one poll to the next
  std::uint64_t longest_ns = 2'000'000;  ///< the same
  /// The same, where something else wakes the helper as soon as more can move.
  std::uint64_t longest_event_driven_ns = 0;
  /// The same, where the program is always found inside the library: it waits for what it starts.
  /// Not longer than `longest_ns`: no difference is made.
  std::uint64_t longest_inside_ns = 0;
  std::uint64_t allowance_ns = 500'000;  ///< what may be spent at once after a long rest
  double share = 0.03;                   ///< of one processor; 0..1
};

/// Used by the helper alone.
class Pacing {
 public:
  explicit Pacing(const PacingConfig& config, std::uint64_t now_ns)
      : config_(config),
        rest_ns_({.first = config.shortest_ns, .longest = config.longest_ns}),
        inside_ns_({.first = config.shortest_ns, .longest = config.longest_inside_ns}),
        budget_({.share = config.share, .first = allowance(), .most = allowance()}, now_ns) {}

  /// After a poll that took `cost_ns` and found `useful` work or none. Polls that moved something
  /// do what the program's wait would have done, and cost nothing here. Returns how long to rest.
  /// `event_driven`: something else wakes the helper as soon as more can move.
  std::uint64_t polled(bool useful, std::uint64_t cost_ns, std::uint64_t now_ns,
                       bool event_driven = false);

  /// Something new is under way: the next rest is the shortest one.
  void begin() { rest_ns_.reset(); }

  /// A poll found the program inside the library, in another call than the poll before it. From
  /// the third in a row on, rests are at least twice as long each time.
  void inside_again() {
    if (inside_ < kFewInside)
      ++inside_;
    else
      inside_ns_.lengthen();
  }

  /// A poll found that the program stays outside while something is under way.
  void outside() {
    inside_ = 0;
    inside_ns_.reset();
  }

  /// Whether the budget is used up.
  bool exhausted() const { return budget_.left() < 0; }

 private:
  static constexpr unsigned kFewInside = 2;

  double allowance() const { return static_cast<double>(config_.allowance_ns); }

  PacingConfig config_;
  pay::Backoff<> rest_ns_;
  pay::Backoff<> inside_ns_;  // the least rest, by polls that found the program inside
  unsigned inside_ = 0;       // such polls in a row, up to kFewInside
  pay::Budget budget_;        // ns that polls without a result may take
};

/// How long to rest while the program is inside the library and does everything itself, where
/// others may want something as soon as it has left: part of the time that it has been inside, so
/// that a computation that follows is noticed late by no more than a fraction of what the program
/// waited before it. Used by the helper alone.
class InsidePacing {
 public:
  struct Config {             ///< ns
    std::uint64_t rest;       ///< at least, while it is inside
    std::uint64_t left_rest;  ///< where it has left: does it stay outside?
    std::uint64_t longest;    ///< at most
  };
  explicit InsidePacing(const Config& config) : config_(config) {}

  /// A poll found the program inside; `left`: outside, but inside since the last poll.
  std::uint64_t inside(bool left, std::uint64_t now_ns) {
    if (since_ns_ == 0) since_ns_ = now_ns;
    const std::uint64_t stayed = now_ns - since_ns_;
    return left ? config_.left_rest : std::clamp(stayed / 4, config_.rest, config_.longest);
  }
  /// A poll found that it has been outside since the last one, or that no rank waits for anything.
  std::uint64_t outside() {
    since_ns_ = 0;
    return config_.rest;
  }

 private:
  Config config_;
  std::uint64_t since_ns_ = 0;  ///< 0: it was outside
};

/// Distinguishes polls that moved something from those that found nothing by their time: a poll
/// that finds nothing always takes the same, and moving bytes takes longer.
class PollMeter {
 public:
  /// Of one poll. Returns whether it moved something.
  bool moved(std::uint64_t took_ns);

  /// What a poll takes that finds nothing.
  std::uint64_t empty_ns() const { return static_cast<std::uint64_t>(empty_ns_); }

 private:
  double empty_ns_ = 2000;  // the first poll may move megabytes: it is no measure
};

}  // namespace hob::overlap
