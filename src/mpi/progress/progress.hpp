// What Hob must go on doing while the program is inside MPI: receives that it holds, operations
// that ghosts serve. docs/developers/takeover.md, "Progress".
#pragma once

#include <atomic>

#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/state.hpp"
#include "mpi/progress/helper.hpp"
#include "mpi/progress/pollers.hpp"
#include "mpi/progress/state.hpp"
#include "mpi/progress/yielding.hpp"

namespace hob::mpi {

/// `any_thread`: the library may be called from any thread at any time, and a part may have
/// something under way, so that a helper may be needed.
/// `callbacks`: use those that the library offers. Not thread safe: called while MPI starts.
void prepare_progress(bool any_thread, bool callbacks);

/// A part has something under way from now on, or no longer.
void under_way();
void none_under_way();

/// True if a call that blocks inside the MPI library would leave something behind that only Hob
/// can advance, unless its helper does.
inline bool blocking_needs_care() {
  return parts_under_way.load(std::memory_order_relaxed) != 0 && !own_progress.library_calls_back;
}

/// Around a call that blocks inside the MPI library: where there is a helper, it works meanwhile.
class Blocking {
 public:
  Blocking() : calls_(own_progress.has_helper ? helper::enter() : nullptr) {}
  ~Blocking() {
    if (HOB_UNLIKELY(calls_ != nullptr)) helper::leave(*calls_);
  }
  Blocking(const Blocking&) = delete;
  Blocking& operator=(const Blocking&) = delete;

 private:
  std::atomic<int>* calls_;
};

/// In what wrappers have for programs with several threads: one that has blocked before has a
/// count.
class BlockingThread {
 public:
  BlockingThread() : calls_(helper::own_calls) {
    if (HOB_LIKELY(calls_ != nullptr) || HOB_UNLIKELY(own_progress.has_helper))
      calls_ = helper::enter_here();
  }
  ~BlockingThread() {
    if (calls_ != nullptr) helper::leave(*calls_);
  }
  BlockingThread(const BlockingThread&) = delete;
  BlockingThread& operator=(const BlockingThread&) = delete;

 private:
  std::atomic<int>* calls_;
};

/// Around a call that blocks in any way but the ones that Hob can take apart: where nothing else
/// helps, what is under way goes to the library first.
class BlockingUnknown : public Blocking {
 public:
  BlockingUnknown() {
    if (HOB_UNLIKELY(blocking_needs_care() && !own_progress.has_helper)) repost_all_natively();
  }
};

/// The same for a call that synchronises a window.
class BlockingWindow : public Blocking {
 public:
  BlockingWindow() {
    if (HOB_UNLIKELY(parts_under_way.load(std::memory_order_relaxed) != 0 &&
                     !own_progress.windows_call_back && !own_progress.has_helper))
      repost_all_natively();
  }
};

/// In a call that the program polls and that may not advance anything by itself.
inline void advance_polling() {
  if (HOB_UNLIKELY(parts_under_way.load(std::memory_order_relaxed) != 0)) advance();
}

/// Before the library's MPI_Finalize, while Hob goes on until its end: a library that waits for
/// callbacks to end does not call back any more.
void end_library_callbacks();

/// MPI ends: no more calls from within the library, and no helper.
void end_callbacks();

/// Between polls of a wait of the program's: at first nothing, then it lets other processes run.
class Pause {
 public:
  void operator()() {
    if (HOB_UNLIKELY(++polls_ % tuning::kPollsBetweenLooks == 0)) yielding::after_polls(polls_);
  }

 private:
  unsigned polls_ = 0;
};

/// Hob's things advance until done() is true.
template <class Done>
void advance_until(Done done) {
  for (Pause pause; !done(); pause()) advance();
}

/// The same until test(&flag), a call of the library's, has set the flag, or fails.
template <class Test>
int advance_until_found(Test test) {
  int flag = 0, error = MPI_SUCCESS;
  advance_until([&] { return (error = test(&flag)) != MPI_SUCCESS || flag != 0; });
  return error;
}

}  // namespace hob::mpi
