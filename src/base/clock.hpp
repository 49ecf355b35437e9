// The clocks of Hob. Everything that tells the time does it here.
#pragma once

#include <cstdint>
#include <ctime>

namespace hob {

/// Nanoseconds of one of the system's clocks.
inline std::uint64_t clock_nanoseconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

/// Since some moment, never set back.
inline std::uint64_t monotonic_nanoseconds() { return clock_nanoseconds(CLOCK_MONOTONIC); }

/// Processor time of this process, and of this thread.
inline std::uint64_t process_nanoseconds() { return clock_nanoseconds(CLOCK_PROCESS_CPUTIME_ID); }
inline std::uint64_t thread_nanoseconds() { return clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID); }

/// Since 1970, in UTC.
inline double seconds_since_epoch() {
  return static_cast<double>(clock_nanoseconds(CLOCK_REALTIME)) * 1e-9;
}

/// Ticks of the processor's counter, or nanoseconds where there is none. Costs about 10 ns.
/// Comparable within one process.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return monotonic_nanoseconds();
#endif
}

/// For loops that do nothing but look at the clock: leaves the core to its other hardware thread.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Measured once, at the first call (about a millisecond). Thread safe.
inline double ticks_per_nanosecond() {
  static const double rate = [] {
    constexpr std::uint64_t kMeasured = 1'000'000;  // ns
    const std::uint64_t start = monotonic_nanoseconds();
    const std::uint64_t first = ticks();
    std::uint64_t now = start;
    while (now - start < kMeasured) now = monotonic_nanoseconds();
    return static_cast<double>(ticks() - first) / static_cast<double>(now - start);
  }();
  return rate;
}

/// Whole ticks() in so many nanoseconds, and whole nanoseconds in so many ticks.
inline std::uint64_t ticks_in(double nanoseconds) {
  return static_cast<std::uint64_t>(nanoseconds * ticks_per_nanosecond());
}
inline std::uint64_t nanoseconds_in(double ticks) {
  return static_cast<std::uint64_t>(ticks / ticks_per_nanosecond());
}

/// Nanoseconds since some moment by ticks(): cheaper than the system's clock, comparable within one
/// process.
inline std::uint64_t tick_nanoseconds() {
  static const double nanoseconds = 1 / ticks_per_nanosecond();
  return static_cast<std::uint64_t>(static_cast<double>(ticks()) * nanoseconds);
}

}  // namespace hob
