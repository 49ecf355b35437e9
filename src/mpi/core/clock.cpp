#include "mpi/core/clock.hpp"

#include <chrono>

namespace hob::mpi {

double ticks_per_nanosecond() {
  static const double rate = [] {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const std::uint64_t first = ticks();
    Clock::time_point now;
    do now = Clock::now();
    while (now - start < std::chrono::milliseconds(1));
    const std::uint64_t last = ticks();
    return static_cast<double>(last - first) /
           std::chrono::duration<double, std::nano>(now - start).count();
  }();
  return rate;
}

}  // namespace hob::mpi
