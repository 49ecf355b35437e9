#include "mpi/rma/ghost/members.hpp"

#include <cstddef>
#include <numeric>

#include "mpi/pmpi/real.hpp"
#include "mpi/rma/ghost/client.hpp"

namespace hob::mpi {

std::vector<int> internal_ranks(MPI_Group group) {
  int count = 0;
  real::Group_size(group, &count);
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::vector<int> internal(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  real::Group_translate_ranks(group, count, ranks.data(), ghost_client->world.internal_group,
                              internal.data());
  return internal;
}

}  // namespace hob::mpi
