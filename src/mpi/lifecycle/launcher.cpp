#include "mpi/lifecycle/launcher.hpp"

#include <cstdio>
#include <cstdlib>

#include "mpi/core/context.hpp"

namespace hob::mpi {
namespace {

int number_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? std::atoi(value) : 0;
}

// The tasks that the launcher started; 0 if it does not say. An mpiexec inside a Slurm job starts
// its own ranks from one task on each node, so Slurm is asked last.
int launched_tasks() {
  for (const char* variable : {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"})
    if (const int tasks = number_in(variable); tasks > 0) return tasks;
  if (std::getenv("PMI_FD") || std::getenv("PMIX_NAMESPACE") || std::getenv("HYDI_CONTROL_FD"))
    return 0;
  return std::getenv("SLURM_PROCID") ? number_in("SLURM_STEP_NUM_TASKS") : 0;
}

}  // namespace

void warn_of_singletons(int world_size) {
  const int tasks = launched_tasks();
  if (world_size > 1 || tasks <= 1 || launcher_rank() > 0) return;
  std::fprintf(
      stderr,
      "hob: the launcher started %d tasks, and each is an MPI job of its own with one rank. "
      "Take the mpiexec of this MPI library; under Slurm, srun --mpi=pmi2 (MPICH) or --mpi=pmix "
      "(Open MPI).\n",
      tasks);
}

}  // namespace hob::mpi
