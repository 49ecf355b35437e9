#include "mpi/workarounds/ucx_closing.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/lasting.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/progress/progress_thread.hpp"
#include "mpi/progress/ucx.hpp"
#include "mpi/progress/ucx_api.hpp"

namespace hob::mpi::ucx {
namespace {

/// A Finalizing lives. Global, since UCX calls have no argument for it.
bool finalizing = false;

ProgressTask::Rest poll(int);

/// What the closing of this process consists of. Everything is under `lock`: UCX workers here
/// serve one thread at a time.
struct Closing {
  std::mutex lock;
  std::vector<Worker> workers;  ///< the MPI library's: others' may be in use by other threads
  ProgressTask task{poll};
};

Closing& closing() { return lasting<Closing>(); }

template <class Function>
Function* ucx_function(const char* name) {
  return reinterpret_cast<Function*>(find_or_abort(name));
}

unsigned progress_all(Closing& process) {
  unsigned events = 0;
  for (const Worker worker : process.workers) events += library_progress()(worker);
  return events;
}

unsigned progress_in_turn(Worker worker) {
  Closing& process = closing();
  {
    const std::lock_guard guard(process.lock);
    if (std::ranges::find(process.workers, worker) != process.workers.end())
      return library_progress()(worker);
  }
  return library_progress()(worker);
}

ProgressTask::Rest poll(int) {
  Closing& process = closing();
  const std::lock_guard guard(process.lock);
  return {.ns = progress_all(process) != 0 ? 0 : tuning::kClosingRestNs,
          .depth = ProgressTask::kShort};
}

void end_task(Closing& process) {
  if (!process.task.registered()) return;
  process.task.end();
  redirect_progress(library_progress());
}

// Closes one connection, completely: MPICH, which gets null (UCS_OK), frees no request while the
// progress thread is in UCX.
Request close(void* endpoint, Request (*disconnect)(void*)) {
  static const auto check = ucx_function<Status(Request)>("ucp_request_check_status");
  static const auto release = ucx_function<void(Request)>("ucp_request_release");
  Closing& process = closing();
  Request request = nullptr;
  {
    const std::lock_guard guard(process.lock);
    redirect_progress(progress_in_turn);
    request = disconnect(endpoint);
  }
  process.task.start();
  // An error is a connection that the peer has closed meanwhile: MPICH, which would end the job,
  // need not hear of it.
  if (request == nullptr || is_error(request)) return nullptr;
  for (;;) {
    const std::lock_guard guard(process.lock);
    if (check(request) != Status::in_progress) break;
    progress_all(process);
  }
  const std::lock_guard guard(process.lock);
  release(request);
  return nullptr;
}

}  // namespace

Finalizing::Finalizing() { finalizing = true; }

Finalizing::~Finalizing() {
  end_task(closing());
  finalizing = false;
}

}  // namespace hob::mpi::ucx

extern "C" {

HOB_EXPORT hob::mpi::ucx::Status ucp_worker_create(void* context, const void* params,
                                                   void** worker) {
  using namespace hob::mpi::ucx;
  static const auto next = ucx_function<Status(void*, const void*, void**)>("ucp_worker_create");
  const bool ours = is_library(__builtin_return_address(0));
  const Status status = next(context, params, worker);
  if (status == Status::ok && ours) {
    Closing& process = closing();
    const std::lock_guard guard(process.lock);
    process.workers.push_back(*worker);
    library_has_worker(true);
  }
  return status;
}

HOB_EXPORT void* ucp_disconnect_nb(void* endpoint) {
  using namespace hob::mpi::ucx;
  static const auto next = ucx_function<void*(void*)>("ucp_disconnect_nb");
  const bool ours = finalizing && is_library(__builtin_return_address(0));
  return ours ? close(endpoint, next) : next(endpoint);
}

HOB_EXPORT void ucp_worker_destroy(void* worker) {
  using namespace hob::mpi::ucx;
  static const auto next = ucx_function<void(void*)>("ucp_worker_destroy");
  Closing& process = closing();
  bool ours = false;
  {
    const std::lock_guard guard(process.lock);
    ours = std::erase(process.workers, worker) != 0;
  }
  if (ours) end_task(process);
  next(worker);
}

}  // extern "C"
