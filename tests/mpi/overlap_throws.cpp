// Error handlers that throw C++ exceptions out of calls that the overlap thread waits for: the
// program is outside MPI when it has caught them, and the thread goes on. Two ranks.
#include <mpi.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

#include "overlap_check.h"

namespace {

constexpr int kCount = 1 << 19, kNobody = 77;

void handler(MPI_Comm*, int*, ...) { throw std::runtime_error("communicator"); }

template <class Call>
void expect_thrown(const char* what, Call call) {
  try {
    call();
  } catch (const std::exception&) {
    return;
  }
  fail(what);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler throwing;
  MPI_Comm_create_errhandler(handler, &throwing);
  MPI_Comm_set_errhandler(comm, throwing);
  std::vector<double> out(kCount), in(kCount), less(kCount / 2);
  for (int round = 1; round <= 5; ++round) {
    MPI_Request requests[2], too_small, whole;
    for (double& each : out) each = round + 10 * rank;
    in.back() = -1;
    MPI_Irecv(less.data(), kCount / 2, MPI_DOUBLE, 1 - rank, 1, comm, &too_small);
    MPI_Barrier(MPI_COMM_WORLD);  // first the receive, then what does not fit
    MPI_Isend(out.data(), kCount, MPI_DOUBLE, 1 - rank, 1, comm, &whole);
    MPI_Irecv(in.data(), kCount, MPI_DOUBLE, 1 - rank, 2, comm, &requests[0]);
    MPI_Isend(out.data(), kCount, MPI_DOUBLE, 1 - rank, 2, comm, &requests[1]);
    expect_thrown("a start", [&] {
      MPI_Request request;
      MPI_Isend(out.data(), kCount, MPI_DOUBLE, kNobody, 1, comm, &request);
    });
    expect_thrown("a call", [&] { MPI_Send(out.data(), 1, MPI_DOUBLE, kNobody, 1, comm); });
    expect_thrown("a wait", [&] { MPI_Wait(&too_small, MPI_STATUS_IGNORE); });
    compute_until(&in.back(), round + 10 * (1 - rank));
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Wait(&whole, MPI_STATUS_IGNORE);
    for (const double each : in)
      if (each != round + 10 * (1 - rank)) fail("wrong bytes");
  }
  MPI_Comm_free(&comm);
  MPI_Errhandler_free(&throwing);
  if (rank == 0) std::printf("right\n");
  MPI_Finalize();
}
