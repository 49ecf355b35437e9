// Which of Hob's operations a program that polls MPI_Testall is still waiting for. Private to the
// request layer.
#pragma once

#include "mpi/progress/progress.hpp"
#include "mpi/requests/known.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi::requests {

/// Programs poll thousands of requests at once (FDS does), and one that is not ready is answer
/// enough: it is remembered, and those before it were ready and stay so. Nothing is remembered
/// while the program has several threads.
class Awaited {
 public:
  /// This one of Hob's was not ready when the array was tested.
  void set(const MPI_Request* requests, int place) {
    if (many_threads) return;
    requests_ = requests;
    place_ = place;
  }

  /// Whether one of Hob's, from that one on, is not ready yet; what is under way has advanced then.
  /// False: all of the array must be looked at.
  bool any(int count, const MPI_Request* requests) {
    if (many_threads || requests != requests_) return false;
    if (skip_ready(count, requests)) {
      advance();
      if (skip_ready(count, requests)) return true;
    }
    requests_ = nullptr;
    return false;
  }

 private:
  bool skip_ready(int count, const MPI_Request* requests) {
    for (; place_ < count; ++place_) {
      Operation* const operation = find(requests[place_]);
      if (operation && operation->active() && !operation->ready()) return true;
    }
    return false;
  }

  const MPI_Request* requests_ = nullptr;
  int place_ = 0;
};

}  // namespace hob::mpi::requests
