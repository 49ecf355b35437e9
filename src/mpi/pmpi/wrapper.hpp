// What every generated wrapper needs: when Hob is off, and what the process may have learned.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/state.hpp"

namespace hob::mpi {

inline bool pass_through() { return !active || depth != 0; }

/// Adds, at the price of a plain addition while the program has one thread.
inline void count(std::atomic<int>& counter, int more) {
  if (many_threads)
    counter.fetch_add(more, std::memory_order_seq_cst);
  else
    counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

inline void begin_tracking() { count(concerns.parts_tracking, 1); }
inline void end_tracking() { count(concerns.parts_tracking, -1); }

/// For parts that, once they have had something to do, stay on.
inline void track_for_good() {
  static const bool once = (begin_tracking(), true);
  (void)once;
}

inline bool tracking_off() { return concerns.parts_tracking.load(std::memory_order_relaxed) == 0; }
/// All of `concerns` at once.
inline std::uint64_t all_concerns() {
  using Word [[gnu::may_alias]] = std::uint64_t;
  static_assert(sizeof(Concerns) == sizeof(Word));
  return __atomic_load_n(reinterpret_cast<const Word*>(&concerns), __ATOMIC_RELAXED);
}
/// Nothing of Hob's concerns a call that says nothing else: tracking is off, and no call is
/// announced.
inline bool at_rest(std::uint64_t all) { return all == 0; }
/// The same in a program with several threads: nothing is under way or waits, no call is announced,
/// and nothing depends on the count of acquires. In functions of the program's that the library
/// calls, too, as at_rest().
inline bool threads_at_rest(std::uint64_t all) {
  struct Values {
    std::int32_t parts_tracking = 1;
    bool calls_announced = false, threads_alone = true;
    bool rest[2] = {};
  };
  return all == std::bit_cast<std::uint64_t>(Values{});
}
inline bool untracked() { return tracking_off() || pass_through(); }

/// Neither a status nor the constant that stands for none.
inline bool is_no_status(const MPI_Status* status) {
  return !status && MPI_STATUS_IGNORE != static_cast<MPI_Status*>(nullptr);
}

/// At the end of a call of the program's: its error handlers get what waits for them
/// (core/unreported_errors.hpp), unless this call is part of another one.
[[gnu::noinline, gnu::cold]] void report_errors();

/// Around Hob's own work and calls of the library: neither comes back into the wrappers.
struct DepthGuard {
  DepthGuard() { depth += kInside; }
  ~DepthGuard() { depth -= kInside; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
};

/// One more, from any thread; returns how many there are now.
inline std::uint64_t tally(std::uint64_t& counter) {
  if (many_threads) return std::atomic_ref(counter).fetch_add(1, std::memory_order_relaxed) + 1;
  return ++counter;
}

}  // namespace hob::mpi
