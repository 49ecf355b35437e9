// A clock for intervals of nanoseconds: the processor's counter where there is one.
#pragma once

#include <cstdint>
#include <ctime>

namespace hob::mpi {

/// Ticks since some moment. Costs about 10 ns. Comparable within one process.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u +
         static_cast<std::uint64_t>(now.tv_nsec);
#endif
}

/// For loops that do nothing but look at the clock: leaves the core to its other thread.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Measured once, at the first call (about a millisecond).
double ticks_per_nanosecond();

}  // namespace hob::mpi
