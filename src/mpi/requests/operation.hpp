// What may be behind a request handle of the program.
#pragma once

#include <atomic>
#include <boost/intrusive/list_hook.hpp>
#include <cstdint>

#include "mpi/pmpi/mpi.hpp"

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

  /// Whether a call that waits for this one, whatever else it waits for, calls complete() before
  /// ready().
  bool completed_by_wait = false;

  /// Blocks until it is ready. Hob advances nothing else meanwhile.
  virtual void complete() {}

  /// Only when ready: fills the status but for MPI_ERROR, and returns the error code (the
  /// communicator's error handler has been called already). May be called more than once.
  virtual int result(MPI_Status* status) = 0;

  /// The program knows that it is complete. A persistent operation becomes inactive; any
  /// other deletes itself.
  virtual void retire() = 0;

  /// MPI_Request_free: the handle is gone. It goes on if it is under way, and deletes itself at
  /// the end.
  virtual void abandon() = 0;

  /// MPI_Cancel.
  virtual void cancel() {}

  /// Before MPI_Start; only for persistent operations. True: the library is to start its own
  /// request, and nothing is to be known of that one until the program starts it again. Else
  /// start() comes next.
  virtual bool leaves_start() { return false; }
  /// MPI_Start; only for persistent operations.
  virtual int start() { return MPI_ERR_REQUEST; }

  /// Whether the process may learn of other processes' writes from its completion
  /// (docs/consistency.md).
  virtual bool is_acquire() const { return true; }

  /// Whether it is ready() only after requests::signal(), so that it need not be asked before.
  virtual bool is_event_driven() const { return false; }

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

  /// Among those that have signalled. The request layer's own.
  boost::intrusive::list_member_hook<> signalled;

  /// Where its handle is in the array that the program waits for (kept_array.hpp), if that is still
  /// this one. The request layer's own.
  struct {
    std::uint64_t array = 0;
    int place = 0;
    MPI_Request handle = MPI_REQUEST_NULL;
  } kept_place;
};

/// Hears of completions of the MPI library's own requests.
class CompletionObserver {
 public:
  /// A wait, test or request_get_status has found the request complete, and is about to say so to
  /// the program; or the program freed it (`freed`), and its end is unknown. Called once per
  /// watch().
  virtual void completed(std::uint64_t cookie, bool freed) = 0;

  /// The program asks for this one request whether it is complete, and may wait for it. Only while
  /// the program has one thread.
  virtual void asked(std::uint64_t) {}

  /// As Operation::is_acquire().
  virtual bool is_acquire() const { return true; }

  /// Whether a watch may end before its request is complete, as if the program had freed it: in
  /// programs with several threads, a poll of a watched request takes three times as long.
  virtual bool may_end() const { return false; }

 protected:
  ~CompletionObserver() = default;
};

}  // namespace hob::mpi
