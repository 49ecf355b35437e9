#include "mpi/ghost/variables.hpp"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/lasting.hpp"

namespace hob::mpi {
namespace {

struct Variable {
  const char* name;
  int Place::*what;
};

/// Hydra's, Open MPI's, PMIx's, Slurm's, MVAPICH's, Cray's, IBM's and Flux's.
constexpr Variable kVariables[] = {
    {"PMI_RANK", &Place::rank},
    {"PMI_SIZE", &Place::size},
    {"PMI_ID", &Place::rank},
    {"PMI_LOCAL_RANK", &Place::local_rank},
    {"PMI_LOCAL_SIZE", &Place::local_size},
    {"MPI_LOCALRANKID", &Place::local_rank},
    {"MPI_LOCALNRANKS", &Place::local_size},
    {"OMPI_COMM_WORLD_RANK", &Place::rank},
    {"OMPI_COMM_WORLD_SIZE", &Place::size},
    {"OMPI_COMM_WORLD_LOCAL_RANK", &Place::local_rank},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", &Place::local_size},
    {"OMPI_COMM_WORLD_NODE_RANK", &Place::local_rank},
    {"OMPI_WORLD_SIZE", &Place::size},
    {"OMPI_WORLD_LOCAL_SIZE", &Place::local_size},
    {"OMPI_UNIVERSE_SIZE", &Place::size},
    {"PMIX_RANK", &Place::rank},
    {"SLURM_PROCID", &Place::rank},
    {"SLURM_NTASKS", &Place::size},
    {"SLURM_NPROCS", &Place::size},
    {"SLURM_STEP_NUM_TASKS", &Place::size},
    {"SLURM_LOCALID", &Place::local_rank},
    {"MV2_COMM_WORLD_RANK", &Place::rank},
    {"MV2_COMM_WORLD_SIZE", &Place::size},
    {"MV2_COMM_WORLD_LOCAL_RANK", &Place::local_rank},
    {"MV2_COMM_WORLD_LOCAL_SIZE", &Place::local_size},
    {"MVP_COMM_WORLD_RANK", &Place::rank},
    {"MVP_COMM_WORLD_SIZE", &Place::size},
    {"MVP_COMM_WORLD_LOCAL_RANK", &Place::local_rank},
    {"MVP_COMM_WORLD_LOCAL_SIZE", &Place::local_size},
    {"PALS_RANKID", &Place::rank},
    {"PALS_LOCAL_RANKID", &Place::local_rank},
    {"PALS_LOCAL_SIZE", &Place::local_size},
    {"ALPS_APP_PE", &Place::rank},
    {"JSM_NAMESPACE_RANK", &Place::rank},
    {"JSM_NAMESPACE_SIZE", &Place::size},
    {"JSM_NAMESPACE_LOCAL_RANK", &Place::local_rank},
    {"JSM_NAMESPACE_LOCAL_SIZE", &Place::local_size},
    {"FLUX_TASK_RANK", &Place::rank},
    {"FLUX_TASK_LOCAL_ID", &Place::local_rank},
    {"FLUX_JOB_SIZE", &Place::size},
};

using Saved = std::vector<std::pair<const char*, std::string>>;

Saved& saved() { return lasting<Saved>(); }

}  // namespace

void translate_variables(const Place& before, const Place& after) {
  for (const Variable& each : kVariables) {
    const char* value = std::getenv(each.name);
    if (!value || value != std::to_string(before.*each.what)) continue;
    saved().emplace_back(each.name, value);
    ::setenv(each.name, std::to_string(after.*each.what).c_str(), 1);
  }
}

void restore_variables() {
  for (const auto& [name, value] : saved()) ::setenv(name, value.c_str(), 1);
  saved().clear();
}

}  // namespace hob::mpi
