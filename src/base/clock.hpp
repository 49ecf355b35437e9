// The clocks of Hob. All times are taken here.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#include "base/state.hpp"
#include "base/tick_rate.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

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

/// The processor's counter; the system's clock where there is none.
inline std::uint64_t processor_ticks() {
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

/// Whether that counter has one rate.
inline bool has_invariant_counter() {
#if defined(__x86_64__)
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  const std::uint32_t leaf = __get_cpuid_max(0x80000000U, nullptr);
  if (!__get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx)) return false;
  return says_invariant(leaf, edx);
#else
  return true;  // by definition, or the system's clock
#endif
}

/// The first look asks the processor, which may take microseconds in a virtual machine.
[[gnu::cold, gnu::noinline]] inline std::uint64_t unsure_ticks() {
  static const bool invariant = has_invariant_counter();
  if (!invariant) return monotonic_nanoseconds();
  clocks::counter_is_sure.store(true, std::memory_order_relaxed);
  return processor_ticks();
}

/// Ticks of the processor's counter, or nanoseconds where there is none of one rate. Costs about
/// 10 ns. Comparable within one process.
inline std::uint64_t ticks() {
  if (clocks::counter_is_sure.load(std::memory_order_relaxed)) [[likely]]
    return processor_ticks();
  return unsure_ticks();
}

/// For loops that do nothing but look at the clock: leaves the core to its other hardware thread.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

namespace clocks {

inline TickRate& only_rate() {
  static TickRate rate;
  return rate;
}

}  // namespace clocks

/// When the library is loaded: what the first call of tick_rate() waits for passes while the
/// program and MPI start.
inline void begin_clock() {
  ticks();
  if (clocks::counter_is_sure.load(std::memory_order_relaxed))
    clocks::only_rate().begin(processor_ticks, monotonic_nanoseconds);
}

/// Measured at the first call, which takes about a millisecond, or what is left of it since
/// begin_clock(). Thread safe.
inline TickRate& tick_rate() {
  static TickRate& rate = []() -> TickRate& {
    TickRate& measured = clocks::only_rate();
    ticks();
    if (clocks::counter_is_sure.load(std::memory_order_relaxed))
      measured.calibrate(processor_ticks, monotonic_nanoseconds);
    return measured;
  }();
  return rate;
}
inline double ticks_per_nanosecond() { return tick_rate().ticks_per_nanosecond(); }

/// Where something takes long anyway: the longer it is since the first call, the better.
inline void correct_clock() { tick_rate().correct(processor_ticks, monotonic_nanoseconds); }

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
  const TickRate& rate = tick_rate();
  return rate.nanoseconds_at(ticks());
}

}  // namespace hob
