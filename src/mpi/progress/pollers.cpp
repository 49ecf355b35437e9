#include "mpi/progress/pollers.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/lasting.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/state.hpp"

namespace hob::mpi {
namespace {

std::vector<Poller>& pollers() { return lasting<std::vector<Poller>>(); }

/// This thread advances Hob's things, or is not to: it does not begin once more.
thread_local bool advancing __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

void add_poller(const Poller& poller) { pollers().push_back(poller); }

void begin_polling() {
  own_progress.ended = own_progress.callbacks_ended = false;
  pollers().clear();
}

void end_polling() { own_progress.ended = true; }
void end_library_polling() { own_progress.callbacks_ended = true; }
bool polling_ended() { return own_progress.ended || own_progress.callbacks_ended; }

void advance() {
  if (advancing || own_progress.ended) return;
  advancing = true;
  for (const Poller& poller : pollers())
    if (poller.advance) poller.advance();
  advancing = false;
}

void advance_from_library() {
  if (parts_under_way.load(std::memory_order_relaxed) == 0 || advancing) return;
  const DepthGuard guard;
  advance();
}

NotAdvancing::NotAdvancing() { advancing = true; }
NotAdvancing::~NotAdvancing() { advancing = false; }

bool advance_by_thread() {
  if (parts_under_way.load(std::memory_order_relaxed) == 0) return true;
  if (own_progress.ended) return false;
  return std::any_of(pollers().begin(), pollers().end(), [](const Poller& poller) {
    return poller.advance_by_thread && poller.advance_by_thread();
  });
}

void repost_all_natively() {
  for (const Poller& poller : pollers())
    if (poller.repost_natively) poller.repost_natively();
}

}  // namespace hob::mpi
