#include "mpi/ghost/job/peers_watch.hpp"

#include <cstdio>

#include "mpi/core/end_job.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

void end_job(const std::string& why) {
  std::fprintf(stderr, "hob: %s; ending the job\n", why.c_str());
  end_job(MPI_COMM_WORLD, 1);
}

std::vector<int> ghost_pids(const GhostWorld& world) {
  std::vector<int> pids;
  if (!world.numbered_alike) return pids;
  for (const GhostStatus* status : world.statuses) pids.push_back(status->pid);
  return pids;
}

std::vector<int> application_pids(const GhostWorld& world) {
  return world.numbered_alike ? world.pids : std::vector<int>{};
}

void end_without_ghost(const GhostWorld& world, std::size_t number) {
  end_job("ghost " + std::to_string(number) + " of node " + std::to_string(world.own_node) +
          " (process " + std::to_string(world.statuses[number]->pid) +
          ") ended before the program did: it was killed, or it crashed");
}

}  // namespace hob::mpi
