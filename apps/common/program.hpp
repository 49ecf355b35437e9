// What the main() of every application does around its work.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <exception>
#include <stdexcept>

namespace apps {

/// MPI's start and end around run(rank, ranks), which returns the exit status. Wrong arguments
/// (std::invalid_argument) are said once, with the usage, and end the program with status 2; any
/// other exception ends the job.
template <class Run>
int program(int argc, char** argv, const char* name, const char* usage, Run run) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, status = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    status = run(rank, ranks);
  } catch (const std::invalid_argument& error) {
    if (rank == 0) std::fprintf(stderr, "%s: %s\n%s", name, error.what(), usage);
    status = 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: rank %d: %s\n", name, rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}

}  // namespace apps
