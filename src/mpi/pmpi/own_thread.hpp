// A thread of Hob's own, which lives as long as a part needs it.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <atomic>

#include "mpi/pmpi/memory.hpp"

namespace hob::mpi {

class OwnThread {
 public:
  /// Nothing where it runs already, or where the system gives none. Threads may call it at once;
  /// the one whose call makes the thread ends it, or sees to it that another one does.
  template <void* (*work)(void*)>
  void make(void* argument = nullptr) {
    if (runs() || runs_.exchange(true)) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's
    runs_ = pthread_create(&thread_, nullptr, main<work>, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  bool runs() const { return runs_.load(std::memory_order_acquire); }

  /// After it was asked to end.
  void join() {
    pthread_join(thread_, nullptr);
    runs_ = false;
  }

  /// In a child of fork(), which does not have it.
  void forget() { runs_ = false; }

 private:
  template <void* (*work)(void*)>
  static void* main(void* argument) {
    try {
      return work(argument);
    } catch (const OutOfMemory&) {
      out_of_memory("a thread of Hob's own");
    }
  }

  std::atomic<bool> runs_{false};
  pthread_t thread_{};
};

}  // namespace hob::mpi
