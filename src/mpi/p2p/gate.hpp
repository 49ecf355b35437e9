// The lock of everything in this folder.
#pragma once

#include <sched.h>

#include <atomic>
#include <mutex>

#include "mpi/pmpi/spin.hpp"

namespace hob::mpi::p2p {

/// Mutual exclusion of channels and queues. Taken by the program's threads, and, only by trying,
/// from within the MPI library, whose own lock the caller may hold. Under it, functions of the
/// program's that the library calls are not served (core/program_guard.hpp).
class Gate {
 public:
  bool try_lock() {
    if (!many_threads) {  // then callers can only meet one another from within the library
      if (busy_.load(std::memory_order_relaxed)) return false;
      busy_.store(true, std::memory_order_relaxed);
    } else if (busy_.exchange(true, std::memory_order_acquire)) {
      return false;
    }
    mine_now() = true;
    depth += kExclusive;
    return true;
  }
  void lock() {
    while (!try_lock()) sched_yield();
  }
  void unlock() {
    depth -= kExclusive;
    mine_now() = false;
    busy_.store(false, std::memory_order_release);
  }
  /// This thread has it.
  bool mine() const { return mine_now(); }
  /// Locked, unless this thread has it already.
  std::unique_lock<Gate> unless_mine() {
    std::unique_lock guard(*this, std::defer_lock);
    if (!mine_now()) guard.lock();
    return guard;
  }

 private:
  static bool& mine_now() {
    static constinit thread_local bool mine __attribute__((tls_model("initial-exec"))) = false;
    return mine;
  }

  std::atomic<bool> busy_{false};
};

}  // namespace hob::mpi::p2p
