// A lock for short sections that is free of charge while the program has one thread.
#pragma once

#include <sched.h>

#include <atomic>

#include "mpi/pmpi/state.hpp"

namespace hob::mpi {

/// Mutual exclusion among the program's threads; does nothing unless many_threads.
class Spin {
 public:
  void lock() {
    if (!many_threads) return;
    while (busy_.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  void unlock() {
    if (many_threads) busy_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> busy_{false};
};

/// The same, for what calls the library under it.
class ExclusiveSpin {
 public:
  void lock() {
    spin_.lock();
    depth += kExclusive;
  }
  void unlock() {
    depth -= kExclusive;
    spin_.unlock();
  }
  /// The same lock, for a section that does not call the library.
  Spin& without_calls() { return spin_; }

 private:
  Spin spin_;
};

}  // namespace hob::mpi
