// How many operations a window's origin has given to its targets.
#pragma once

#include <atomic>
#include <cstdint>

namespace hob::mpi {

/// By kind; see tally().
struct OperationCounts {
  std::uint64_t puts = 0, accumulates = 0, atomics = 0;
  std::uint64_t requested = 0;  ///< of all operations, those that made a request

  /// From any thread, as tally().
  std::uint64_t writes() const { return read(puts) + read(accumulates) + read(atomics); }
  bool any() const { return writes() != 0; }

 private:
  static std::uint64_t read(const std::uint64_t& counter) {
    return std::atomic_ref(const_cast<std::uint64_t&>(counter)).load(std::memory_order_relaxed);
  }
};

}  // namespace hob::mpi
