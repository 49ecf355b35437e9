// A thread of Hob's own that polls, rests in between, and sleeps while there is nothing to poll.
#pragma once

#include <atomic>
#include <ctime>

#include "mpi/pmpi/own_thread.hpp"
#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi {

class PollingThread {
 public:
  /// What a poll returns instead of how long to rest (ns): there is nothing to do until rouse().
  static constexpr long kUntilRoused = -1;

  /// Nothing where it runs already. `poll` has to see all that is done before a rouse(), and the
  /// other way round: by sequentially consistent accesses.
  template <long (*poll)()>
  void make() {
    thread_.make<run<poll>>(this);
  }

  bool runs() const { return thread_.runs(); }

  /// There may be something to do.
  void rouse() {
    if (asleep_.load(std::memory_order_seq_cst) == 0) return;
    asleep_.store(0, std::memory_order_seq_cst);
    asleep_.notify_all();
  }

  /// Waits for it. It can be made again.
  void end() {
    if (!runs()) return;
    ending_.store(true, std::memory_order_seq_cst);
    rouse();
    thread_.join();
    ending_ = false;
  }

 private:
  template <long (*poll)()>
  static void* run(void* self) {
    static_cast<PollingThread*>(self)->poll_until_end(poll);
    return nullptr;
  }

  void poll_until_end(long (*poll)()) {
    const DepthGuard guard;
    while (!ending_.load(std::memory_order_seq_cst)) {
      long rest = poll();
      if (rest == kUntilRoused) {
        asleep_.store(1, std::memory_order_seq_cst);
        rest = poll();  // who came before that has not roused it
        if (rest == kUntilRoused && !ending_.load(std::memory_order_seq_cst))
          asleep_.wait(1, std::memory_order_seq_cst);
        asleep_.store(0, std::memory_order_relaxed);
      }
      if (rest <= 0) continue;
      const timespec time{0, rest};
      nanosleep(&time, nullptr);
    }
  }

  std::atomic<bool> ending_{false};
  std::atomic<int> asleep_{0};  ///< 1 while it sleeps until it is roused
  OwnThread thread_;
};

}  // namespace hob::mpi
