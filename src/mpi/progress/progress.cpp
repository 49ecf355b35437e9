#include "mpi/progress/progress.hpp"

#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/helper.hpp"
#include "mpi/progress/ucx.hpp"

namespace hob::mpi {
namespace {

int from_mpich(void*) {
  return polling_ended() ? library::kAsyncDone
                         : (advance_from_library(), library::kAsyncNoProgress);
}

/// Open MPI 4 and 5: callbacks of opal_progress.
using OpalRegister = int (*)(int (*)());
int from_open_mpi() {
  advance_from_library();
  return 0;
}

void install_callback() {
  if (own_progress.has_callback.exchange(true) || !own_progress.wants_callback) return;
  if (auto add = reinterpret_cast<OpalRegister>(real::find("opal_progress_register"))) {
    own_progress.library_calls_back = own_progress.windows_call_back = add(from_open_mpi) == 0;
    return;
  }
  // MPICH calls back with locks held that its own calls take again.
  if (many_threads) return;
  if (ucx::serves()) {
    own_progress.library_calls_back = own_progress.windows_call_back = true;
  } else if (const library::AsyncStart start = library::async_start()) {
    own_progress.library_calls_back = own_progress.callback_is_awaited =
        start(from_mpich, nullptr, library::kNoStream) == 0;
  }
}

}  // namespace

void prepare_progress(bool any_thread, bool callbacks) {
  // The first time, or again in a program that opens sessions one after another.
  own_progress.has_callback = own_progress.library_calls_back = own_progress.windows_call_back =
      own_progress.has_helper = false;
  begin_polling();
  own_progress.wants_callback = callbacks;
  if (!many_threads) return;
  // Open MPI's registration is not safe while other threads are in its progress.
  install_callback();
  own_progress.has_helper = any_thread && !own_progress.library_calls_back;
  if (own_progress.has_helper) helper::prepare();
}

void under_way() {
  install_callback();
  count(parts_under_way, 1);
  begin_tracking();
  if (own_progress.has_helper) helper::call();
}

void none_under_way() {
  end_tracking();
  count(parts_under_way, -1);
}

void end_library_callbacks() {
  end_library_polling();
  if (own_progress.callback_is_awaited) own_progress.library_calls_back = false;
}

void end_callbacks() {
  end_polling();
  own_progress.has_helper = false;
  helper::end();
}

}  // namespace hob::mpi
