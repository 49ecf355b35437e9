// What programs do that compute while something is under way: a nonblocking collective operation
// beside the messages of a phase, and pauses outside MPI.
#pragma once

#include <mpi.h>

#include <vector>

#include "p2p_plan.hpp"

namespace p2p {

/// Outside MPI for up to some milliseconds, now and then: busy, or asleep.
void compute_sometimes(fuzz::Random& random);

/// The collective operation of a phase, if it has one, among all of a communicator.
class Beside {
 public:
  Beside(const Phase& phase, MPI_Comm comm);
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  /// Waits for it. Throws Failure if its result is wrong, or if an operation of the program's ran
  /// in a thread of Hob's.
  void finish(fuzz::Random& random);

 private:
  int element(int from, int to, int i) const { return from * 7 + to * 3 + i + count_; }

  int kind_ = 0, count_ = 0, rank_ = 0, size_ = 1;
  std::vector<int> out_, in_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace p2p
