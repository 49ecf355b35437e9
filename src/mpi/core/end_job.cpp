#include "mpi/core/end_job.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "mpi/pmpi/real.hpp"

namespace hob::mpi {

void end_job(MPI_Comm comm, int status) {
  std::fflush(stderr);
  ::usleep(200'000);
  real::Abort(comm, status);
  // MPICH 5 returns, and the program would go on until its launcher kills it.
  std::_Exit(status);
}

}  // namespace hob::mpi
