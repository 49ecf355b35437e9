// Whether other threads of the process run.
#pragma once

#include <cstdint>

namespace hob::pay {

/// Learns it from the processor time of the process and of the calling thread. The system adds what
/// a thread uses when it gives its core away, and at its ticks, which are 1 to 10 ms apart. Of one
/// thread; callers give nanoseconds of any steady clock.
class OtherThreads {
 public:
  struct Config {
    /// ns. Others run if they have used so much since a look of at most `window_ns` ago. A tick is
    /// more, a thread that wakes now and then to poll uses less.
    std::uint64_t used_ns = 500'000;
    std::uint64_t window_ns = 10'000'000;
    /// ns. For so long they are thought to go on: several ticks.
    std::uint64_t remembered_ns = 40'000'000;
  };

  OtherThreads() : OtherThreads(Config()) {}
  explicit OtherThreads(const Config& config) : config_(config) {}

  /// The processor times at this moment.
  void look(std::uint64_t now, std::uint64_t of_process, std::uint64_t of_thread) {
    // The two are not read at the same time.
    const std::uint64_t used = of_process > of_thread ? of_process - of_thread : 0;
    if (used > used_before_ + config_.used_ns) {
      run_until_ = now + config_.remembered_ns;
    } else if (now - window_began_ < config_.window_ns) {
      return;
    }
    used_before_ = used;
    window_began_ = now;
  }

  bool run(std::uint64_t now) const { return now < run_until_; }

 private:
  Config config_;
  std::uint64_t used_before_ = 0;
  std::uint64_t window_began_ = 0;
  std::uint64_t run_until_ = 0;
};

}  // namespace hob::pay
