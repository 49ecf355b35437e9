#include "mpi/progress.hpp"

#include <vector>

#include "mpi/resolve.hpp"
#include "mpi/spin.hpp"
#include "mpi/wrapper.hpp"

namespace hob::mpi {
namespace {

std::vector<Poller>& pollers() {
  static auto* the = new std::vector<Poller>;
  return *the;
}

std::atomic<bool> ended{false};
thread_local bool advancing __attribute__((tls_model("initial-exec"))) = false;

/// From within the library's own progress: Hob's calls there must not come back into its wrappers.
int from_library() {
  if (parts_under_way.load(std::memory_order_relaxed) == 0) return 0;
  const DepthGuard guard;
  advance();
  return 0;
}

/// MPICH 4.3 and later: asynchronous things, polled by the library's progress engine. The stream
/// argument is a handle, an int there; MPIX_STREAM_NULL.
constexpr int kMpichNoStream = 0x3c000000;
enum MpichPoll { kMpichNoProgress = 0, kMpichDone = 1 };
using MpichAsyncStart = int (*)(int (*)(void*), void*, int);
int from_mpich(void*) { return ended ? kMpichDone : (from_library(), kMpichNoProgress); }

/// Open MPI 4 and 5: callbacks of opal_progress.
using OpalRegister = int (*)(int (*)());

void install_callback() {
  static std::atomic<bool> installed{false};
  if (installed.exchange(true)) return;
  if (auto start = reinterpret_cast<MpichAsyncStart>(real::find("MPIX_Async_start"))) {
    // MPICH polls these with a lock held that its calls take again, and checks it with many
    // threads.
    if (!many_threads) library_calls_back = start(from_mpich, nullptr, kMpichNoStream) == 0;
  } else if (auto add = reinterpret_cast<OpalRegister>(real::find("opal_progress_register"))) {
    library_calls_back = add(from_library) == 0;
  }
}

}  // namespace

void add_poller(const Poller& poller) {
  pollers().push_back(poller);
  // Open MPI's registration is not safe while other threads are in its progress.
  if (many_threads) install_callback();
}

void under_way() {
  install_callback();
  parts_under_way.fetch_add(1, std::memory_order_relaxed);
  wake();
}

void none_under_way() {
  rest();
  parts_under_way.fetch_sub(1, std::memory_order_relaxed);
}

void advance() {
  if (advancing || ended) return;
  advancing = true;
  for (const Poller& poller : pollers())
    if (poller.advance) poller.advance();
  advancing = false;
}

void before_blocking() {
  for (const Poller& poller : pollers())
    if (poller.hand_over) poller.hand_over();
}

void end_callbacks() { ended = true; }

}  // namespace hob::mpi
