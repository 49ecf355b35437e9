// Which of the program's request handles Hob knows. Private to the request layer.
#pragma once

#include <cstdint>
#include <mutex>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/requests/lookup.hpp"
#include "mpi/requests/operation.hpp"

namespace hob::mpi::requests {

/// What is known of a handle, or null. Under the registry's lock.
inline KnownHandle* known(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL || unknown(handle)) return nullptr;
  return registry().table.find(handle_bits(handle));
}

/// A copy of what is known of a handle; nothing for a handle that Hob does not know.
KnownHandle look_up(MPI_Request handle);

/// The same, and Hob forgets it; a pooled handle goes back to the pool.
KnownHandle take(MPI_Request handle);

/// Adds one, or takes one away, where only those write who hold the lock.
template <class T>
void one_more(std::atomic<T>& counter) {
  counter.store(static_cast<T>(counter.load(std::memory_order_relaxed) + 1),
                std::memory_order_relaxed);
}
template <class T>
void one_less(std::atomic<T>& counter) {
  counter.store(static_cast<T>(counter.load(std::memory_order_relaxed) - 1),
                std::memory_order_relaxed);
}

/// Hob knows one handle more, or one less. Under the lock.
inline void begins(MPI_Request handle) {
  one_more(state.alive);
  if (auto& known = known_handle(handle); known.load(std::memory_order_relaxed) != UINT8_MAX)
    one_more(known);
}
inline void ends(MPI_Request handle) {
  one_less(state.alive);
  if (auto& known = known_handle(handle); known.load(std::memory_order_relaxed) != UINT8_MAX)
    one_less(known);
}

/// As take(), where this operation is behind the handle.
void forget_any(MPI_Request handle);
inline void forget(MPI_Request handle, Operation& operation) {
  if (HOB_UNLIKELY(operation.kept.handle != handle)) return forget_any(handle);
  const std::lock_guard guard(registry().lock);
  --operation.kept.in_use;
  one_less(state.operations);
  ends(handle);
}

/// Under the lock.
void end_watch(KnownHandle& entry, MPI_Request handle);

/// Under the lock: one of the requests with this handle is complete or gone. True if it was the
/// last; else the others are left, and no observer learns of them.
bool last_of(KnownHandle& entry);

/// Stands for no observer: nothing is learned from the completion, and no part needs it.
CompletionObserver& no_observer();

/// The watch of a request that a call of the program may complete. With several threads the call
/// takes it out of the table for as long as it lasts: the library gives a handle away as soon as
/// its request is complete, and what is known of it must not be taken for another thread's request.
struct Watch {
  MPI_Request handle;
  std::uint64_t number;          ///< 0: not watched
  CompletionObserver* observer;  ///< taken out of the table; null: it is still there
  std::uint64_t cookie;
  std::uint32_t asked = 0;  ///< so often before this call
};

/// Under the registry's lock; `entry` is what is known of the handle, or null.
Watch take_watch(MPI_Request handle, KnownHandle* entry);

/// The request is complete, or has ended with an error: its observer hears of it. Once for each
/// watch.
void notify_complete(Watch& watch, bool failed = false);

/// The same with one thread, of a request that had this handle before a call of the program.
/// `last` numbers the last watch before that call: a callback of the program's may have begun
/// another request that has the handle now.
void notify_complete(MPI_Request handle, std::uint64_t last, bool failed = false);

/// The call ends: a request that is not complete is watched as before, unless it was asked for too
/// often and its watch may end. `unwound`: by an exception, so that it is unknown which ones are
/// complete.
void put_back(Watch& watch, bool unwound);

/// The watch of the one request of a call.
class HeldWatch {
 public:
  explicit HeldWatch(MPI_Request handle) {
    const std::lock_guard guard(registry().lock);
    watch_ = take_watch(handle, known(handle));
  }
  ~HeldWatch() { put_back(watch_, !returned_); }
  HeldWatch(const HeldWatch&) = delete;
  HeldWatch& operator=(const HeldWatch&) = delete;

  /// The call has returned, and no error handler of the program's has thrown an exception.
  void returned() { returned_ = true; }
  MPI_Request handle() const { return watch_.handle; }
  /// The library has completed it, or ended it with an error.
  void notify(bool failed) { notify_complete(watch_, failed); }

 private:
  Watch watch_;
  bool returned_ = false;
};

}  // namespace hob::mpi::requests
