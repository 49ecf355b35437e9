// Whether the puts and gets of one origin reach one target sooner through the MPI library or
// through the target's ghost.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hob::ghost {

/// Measured by completions: a flush and the operations that it completes. Begins with the ghost, of
/// which it learns what a completion takes. Now and then the caller makes a trial: it gets a few
/// bytes natively, unused, beside an operation of the ghost's. A trial never makes any rank
/// wait. A network that needs no processor of the target answers it before the ghost answers, one
/// that does need it waits for a target that computes. After a trial that won, operations go
/// natively, and each completion is compared with the ghost's: one that took far longer has waited
/// for a target that computes, and the next ones are the ghost's. Trials that lose become ever more
/// rare. Not thread safe.
class Route {
 public:
  struct Config {
    std::uint32_t first_trial_after = 1;    ///< completions; doubled by each trial that is lost
    std::uint32_t last_trial_after = 1024;  ///< at most
    double stall = 4;                       ///< times a ghost's completion
    std::uint64_t least_stall_ns = 50'000;
    std::uint32_t stall_forgotten = 64;  ///< completions that were no longer than a ghost's
  };
  /// A completion.
  struct Completed {
    std::uint64_t ns = 0;  ///< in the calls that issued its operations and completed them
    double work = 1;       ///< operations, or as many as take as long
  };

  /// The configuration must outlive this.
  explicit Route(const Config& config) : config_(&config), interval_(config.first_trial_after) {}

  /// Whether operations go natively now.
  bool native() const { return native_; }

  /// Whether the next operation that goes to the ghost should have a trial beside it.
  bool trial_due() const { return !native_ && since_ >= interval_; }

  /// How a trial ended. `won`: it was answered when the ghost had answered.
  void tried(bool won) {
    since_ = 0;
    if (!won) {
      interval_ =
          std::min(std::max(2 * interval_, config_->first_trial_after), config_->last_trial_after);
      return;
    }
    interval_ = 1;
    native_ = true;
    native_ns_ = 0;
    good_ = 0;
  }

  void by_ghost(const Completed& completed) {
    learn(ghost_ns_, static_cast<double>(completed.ns) / completed.work);
    since_ = std::min(since_ + 1, config_->last_trial_after);
  }

  void natively(const Completed& completed) {
    const double each = static_cast<double>(completed.ns) / completed.work;
    learn(native_ns_, each);
    if (!native_) return;
    const bool stalled =
        completed.ns > config_->least_stall_ns && each > config_->stall * ghost_ns_;
    if (stalled || native_ns_ > kTolerance * ghost_ns_) {
      go_back();
    } else if (each <= ghost_ns_ && ++good_ >= config_->stall_forgotten) {
      good_ = 0;
      stalls_ = std::max(stalls_, 1U) - 1;
    }
  }

 private:
  /// Measurements of ways that take equally long differ by so much.
  static constexpr double kTolerance = 1.1;
  static constexpr unsigned kMostStalls = 16;

  /// A single completion, in which another process had the core, counts for as much as four.
  static void learn(double& mean, double each) {
    mean = mean == 0 ? each : mean + (std::min(each, 4 * mean) - mean) / 8;
  }

  void go_back() {
    native_ = false;
    since_ = 0;
    stalls_ = std::min(stalls_ + 1, kMostStalls);
    interval_ = std::min(config_->first_trial_after << stalls_, config_->last_trial_after);
  }

  const Config* config_;
  double ghost_ns_ = 0;   ///< what one operation's share of a completion takes
  double native_ns_ = 0;  ///< since operations go natively
  std::uint32_t interval_;
  std::uint32_t since_ = 0;  ///< completions by the ghost since the last trial
  std::uint32_t good_ = 0;
  std::uint32_t stalls_ = 0;
  bool native_ = false;
};

}  // namespace hob::ghost
