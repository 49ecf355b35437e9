// Receives and probes of one thread of several that the MPI library alone serves.
#pragma once

#include <atomic>
#include <cstdint>

namespace hob::match {

/// With several threads, one of them may begin to dequeue messages from the library at any time,
/// and would draw the message of another thread's receive that the library does not have yet. So a
/// thread first says, in a word of its own and without a fence, on which communicator it makes such
/// a call, and then looks whether it still may. Whoever wants to dequeue ends all grants on the
/// communicator, pays for a fence of all threads (overlap::fence_all_threads), and leaves the
/// messages to the library while a thread is inside: an asymmetric form of Dekker's algorithm.
///
/// One object for each thread, which calls begin...() and end(). All else is called under the lock
/// of the queues; grant() by the thread itself. Communicators are numbers, and none is 0.
class alignas(64) DirectCalls {
 private:
  struct Nothing {
    void operator()() const {}
  };

 public:
  /// So many receives.
  struct Receives {
    std::uint32_t nonblocking = 0, blocking = 0;
  };

  /// A call on this communicator begins. False: it may not, and nothing has happened. `between` is
  /// for tests: what another thread does once this one has said where it is.
  template <class Between = Nothing>
  bool begin_blocking(std::uint64_t comm, Between between = {}) {
    return begin(comm, blocking_, between);
  }
  bool begin_nonblocking(std::uint64_t comm) { return begin(comm, nonblocking_, Nothing{}); }
  bool begin_probe(std::uint64_t comm) { return may_begin(comm) && enter(comm, Nothing{}); }
  void end() { inside_.store(0, std::memory_order_release); }

  /// From now on so many receives on this communicator, and probes, until the grant ends.
  void grant(std::uint64_t comm, Receives receives) {
    settled_ = receives;
    nonblocking_.store(receives.nonblocking, std::memory_order_relaxed);
    blocking_.store(receives.blocking, std::memory_order_relaxed);
    granted_.store(comm, std::memory_order_relaxed);
  }

  bool has_grant() const { return granted_.load(std::memory_order_relaxed) != 0; }
  void end_grant() { granted_.store(0, std::memory_order_relaxed); }

  /// The thread is in a call on this communicator. After the grant's end and a fence of all
  /// threads: once it is not, it will not be.
  bool inside(std::uint64_t comm) const { return inside_.load(std::memory_order_acquire) == comm; }

  /// Receives that have begun since this was asked last.
  Receives settle() {
    const Receives left{nonblocking_.load(std::memory_order_relaxed),
                        blocking_.load(std::memory_order_relaxed)};
    const Receives begun{settled_.nonblocking - left.nonblocking,
                         settled_.blocking - left.blocking};
    settled_ = left;
    return begun;
  }

 private:
  /// Functions of the program's that the library calls from within such a call make others: these
  /// go the long way.
  bool may_begin(std::uint64_t comm) const {
    return granted_.load(std::memory_order_relaxed) == comm &&
           inside_.load(std::memory_order_relaxed) == 0;
  }
  template <class Between>
  bool enter(std::uint64_t comm, Between between) {
    inside_.store(comm, std::memory_order_relaxed);
    between();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (granted_.load(std::memory_order_relaxed) == comm) [[likely]]
      return true;
    end();
    return false;
  }
  template <class Between>
  bool begin(std::uint64_t comm, std::atomic<std::uint32_t>& left, Between between) {
    const std::uint32_t before = left.load(std::memory_order_relaxed);
    if (!may_begin(comm) || before == 0 || !enter(comm, between)) return false;
    left.store(before - 1, std::memory_order_relaxed);
    return true;
  }

  std::atomic<std::uint64_t> granted_{0};
  std::atomic<std::uint64_t> inside_{0};
  std::atomic<std::uint32_t> nonblocking_{0}, blocking_{0};
  Receives settled_;
};

}  // namespace hob::match
