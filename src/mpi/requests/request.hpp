// Requests: the program's handles behind which Hob works, and completions of the library's own
// requests that a part of Hob wants to hear of. Cache, ghosts and matching share this layer.
// With neither alive, every wait and test is one branch and the library's own call.
#pragma once

#include <atomic>
#include <boost/intrusive/list_hook.hpp>
#include <cstddef>
#include <cstdint>

#include "mpi/core/handle.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/requests/state.hpp"

namespace hob::mpi {

/// Something that Hob carries out behind a request handle of the program.
/// All calls come from the thread that waits or tests, except where a part calls its own objects.
class Operation {
 public:
  virtual ~Operation() = default;

  /// Whether the program's wait may return. Never blocks; does not advance other operations.
  virtual bool ready() = 0;

  /// From now on the program's thread does nothing but wait until this is ready. A hint. Whether
  /// it needs nothing but that messages are found (progress.hpp).
  virtual bool awaited() { return false; }

  /// Only when ready: fills the status but for MPI_ERROR, and returns the error code (the
  /// communicator's error handler has been called already). May be called more than once.
  virtual int result(MPI_Status* status) = 0;

  /// The program has been told that it is complete. A persistent operation becomes inactive; any
  /// other deletes itself.
  virtual void retire() = 0;

  /// MPI_Request_free: the handle is gone. It goes on if it is under way, and deletes itself at
  /// the end.
  virtual void abandon() = 0;

  /// MPI_Cancel.
  virtual void cancel() {}

  /// MPI_Start; only for persistent operations.
  virtual int start() { return MPI_ERR_REQUEST; }

  /// Whether the process may learn of other processes' writes from its completion
  /// (docs/consistency.md).
  virtual bool is_acquire() const { return true; }

  /// Whether it is ready() only after requests::announce(), so that it need not be asked before.
  virtual bool announces() const { return false; }

  virtual bool persistent() const { return false; }
  virtual bool active() const { return true; }

  /// The request of the library's that is all that is still missing, or null. Whoever waits for it
  /// need not ask ready() and result() then: once this request is gone, its status is the
  /// operation's, and retire() follows. Only the operation itself sets it.
  std::atomic<MPI_Request> rest{MPI_REQUEST_NULL};

  MPI_Request missing() const { return rest.load(std::memory_order_acquire); }

  /// Nothing is missing, or nothing but that request.
  bool left_to_library() { return missing() != MPI_REQUEST_NULL || ready(); }

  /// For objects that are used again and again: the handle from the pool, once there is one, is
  /// kept for the next time. The request layer's own.
  struct Kept {
    bool wanted = false;
    bool shared = false;       ///< several requests may be alive with it
    std::uint32_t in_use = 0;  ///< so many
    MPI_Request handle = MPI_REQUEST_NULL;
  } kept;

  /// Among those that were announced. The request layer's own.
  boost::intrusive::list_member_hook<> announced;

  /// Where its handle is in the array that the program waits for (followed.hpp), if that is still
  /// this one. The request layer's own.
  struct {
    std::uint64_t array = 0;
    int place = 0;
    MPI_Request handle = MPI_REQUEST_NULL;
  } followed;
};

/// Hears of completions of the MPI library's own requests.
class CompletionObserver {
 public:
  /// A wait, test or request_get_status has found the request complete, and is about to say so to
  /// the program; or the program freed it (`freed`), and nobody knows. Called once per watch().
  virtual void completed(std::uint64_t cookie, bool freed) = 0;

  /// The program asks for this one request whether it is complete, and may wait for it. Only while
  /// the program has one thread.
  virtual void asked(std::uint64_t) {}

  /// As Operation::is_acquire().
  virtual bool is_acquire() const { return true; }

 protected:
  ~CompletionObserver() = default;
};

namespace requests {

inline bool none_alive() { return HOB_LIKELY(alive.load(std::memory_order_relaxed) == 0); }

/// Waits and tests are the library's own, and tell nothing.
inline bool all_native() { return none_alive() && idle(); }

/// Waits and tests of these are, too: there are none, or all are null.
inline bool none_given(int count, const MPI_Request* handles) {
  constexpr int kMost = 8;  // more are not looked through twice
  if (count < 0 || count > kMost || parts_under_way.load(std::memory_order_relaxed) != 0)
    return false;
  if (HOB_UNLIKELY(!handles)) return count == 0;
  for (int i = 0; i < count; ++i)
    if (handles[i] != MPI_REQUEST_NULL) return false;
  return true;
}

inline std::atomic<std::uint8_t>& known_handle(MPI_Request handle) {
  return known_handles[handle_hash(handle_bits(handle), kHandleHashBits)];
}

/// True: Hob knows nothing of this request. False tells nothing.
inline bool unknown(MPI_Request handle) {
  return none_alive() || known_handle(handle).load(std::memory_order_relaxed) == 0;
}
/// The same of a handle that the program points to.
inline bool unknown_at(const MPI_Request* handle) {
  return none_alive() || !handle || unknown(*handle);
}
inline bool all_unknown(int count, const MPI_Request* handles) {
  if (none_alive()) return true;
  for (int i = 0; i < count; ++i)
    if (known_handle(handles[i]).load(std::memory_order_relaxed) != 0) return false;
  return true;
}

/// A handle for an operation of Hob's: a real request of the library, from a pool. Throws
/// std::bad_alloc. The handle is given back when the operation is complete or freed, or it is the
/// operation's for good.
MPI_Request add(Operation& operation);

/// An operation that announces() may be ready() from now on; and no longer, before it is used again
/// or destroyed. Calls are serialised by the caller.
void announce(Operation& operation);
void end_announcement(Operation& operation);

/// Such a one, if persistent, has been started, or has become inactive.
void now_active(const Operation& operation);
void now_inactive(const Operation& operation);

/// Lets Hob's operation stand behind a handle that the library made (a persistent request), until
/// the program frees it. Hob frees the library's request then, too.
void stand_behind(MPI_Request handle, Operation& operation);

/// Tells `observer` when this request of the library's is complete. One observer per request.
void watch(MPI_Request handle, CompletionObserver& observer, std::uint64_t cookie);

/// Says of a request that the library has just made that its completion tells nothing of other
/// processes' writes. Throws std::bad_alloc.
void mark_no_acquire(MPI_Request handle);

/// The operation behind a handle, or null.
Operation* find(MPI_Request handle);

/// A handle from add() that the program was never given: nothing stands behind it any more.
void withdraw(MPI_Request handle);

/// Waits for one request of any kind while Hob's own things advance.
int wait(MPI_Request* request, MPI_Status* status);

/// Tests one request of any kind; nothing else of Hob's advances.
int test(MPI_Request* request, int* flag, MPI_Status* status);

/// The library's status of a null or inactive request.
const MPI_Status& empty_status();

/// Copies a status, without its error field.
inline void copy_status(const MPI_Status& from, MPI_Status* to) {
  if (to == MPI_STATUS_IGNORE) return;
  const int error = to->MPI_ERROR;
  *to = from;
  to->MPI_ERROR = error;
}

/// Lets the library advance, others' operations on this process included. Needs no communicator,
/// which a program of sessions may not have. Threads may call it at once.
void drive_progress();

/// Before MPI ends: gives the pool's handles back.
void release_handles();

}  // namespace requests
}  // namespace hob::mpi
