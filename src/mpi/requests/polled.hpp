// What a wrapper does for a poll like the one before it, which found nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mpi/pmpi/call_guard.hpp"
#include "mpi/requests/known.hpp"
#include "mpi/requests/single.hpp"

namespace hob::mpi::requests {

/// A poll has completed nothing.
inline void note_vain_poll(int count, const MPI_Request* requests) {
  if (!many_threads && only_watched()) state.vain_polls.note(count, requests, registry().watches);
}

/// The poll before this one asked the same requests and completed nothing, and nothing of Hob's has
/// to advance or is due.
[[gnu::always_inline]] inline bool polled_in_vain(int count, const MPI_Request* requests) {
  return state.vain_polls.are(count, requests) && only_watched() &&
         timed_work().due.load(std::memory_order_relaxed) == UINT64_MAX;
}

/// The requests of such a poll as they were before it, for the case that it completes one of them.
class PolledRequests {
 public:
  [[gnu::always_inline]] PolledRequests(int count, const MPI_Request* requests)
      : requests_(requests), count_(count) {
    handles_[0] = requests[0];
    for (int i = 1; i < count; ++i) {
      handles_[static_cast<std::size_t>(i)] = requests[i];
      asm("" : "+r"(i));  // else GCC makes `rep movs` of it, which takes 15 ns for one handle
    }
  }

  int count() const { return count_; }
  const MPI_Request* handles() const { return handles_.data(); }

  /// The call has completed these, without an error: observers hear of it.
  void all() const {
    for (int i = 0; i < count_; ++i) one(i);
  }
  void one(int place) const { notify(place, false); }
  void some(int number, const int* places) const {
    if (number == MPI_UNDEFINED) return;
    for (int i = 0; i < number; ++i) one(places[i]);
  }
  /// The call has ended with an error: only the handles show what it completed.
  void replaced() const {
    for (int i = 0; i < count_; ++i)
      if (requests_[i] != handles_[static_cast<std::size_t>(i)]) notify(i, true);
  }

 private:
  void notify(int place, bool failed) const {
    if (place < 0 || place >= count_) return;
    const MPI_Request handle = handles_[static_cast<std::size_t>(place)];
    if (!unknown(handle)) notify_complete(handle, state.vain_polls.watches(), failed);
  }

  const MPI_Request* requests_;
  int count_;
  std::array<MPI_Request, VainPolls::kMost> handles_;
};

}  // namespace hob::mpi::requests
