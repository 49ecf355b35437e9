#include "mpi/core/members.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "mpi/core/context.hpp"
#include "mpi/core/program_world.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {

std::vector<int> members_in(MPI_Group all, MPI_Group members) {
  int size = 0;
  real::Group_size(members, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> theirs(ranks.size(), MPI_UNDEFINED);
  real::Group_translate_ranks(members, size, ranks.data(), all, theirs.data());
  return theirs;
}

std::vector<int> translated(MPI_Comm from, const std::vector<int>& ranks, MPI_Comm to) {
  std::vector<int> theirs(ranks.size(), MPI_UNDEFINED);
  // A program of sessions alone has no world, and its node was never asked for.
  if (from == MPI_COMM_NULL || ranks.empty()) return theirs;
  MPI_Group group = MPI_GROUP_NULL, others = MPI_GROUP_NULL;
  if (real::Comm_group(from, &group) != MPI_SUCCESS) return theirs;
  if (real::Comm_group(to, &others) == MPI_SUCCESS) {
    real::Group_translate_ranks(group, static_cast<int>(ranks.size()), ranks.data(), others,
                                theirs.data());
    real::Group_free(&others);
  }
  real::Group_free(&group);
  return theirs;
}

bool all_run_hob(MPI_Comm comm) {
  // A program of sessions alone meets no other job: it has no parent, and no ports.
  if (context().comm == MPI_COMM_NULL || comm == MPI_COMM_SELF ||
      comm == as_program_sees(MPI_COMM_WORLD))
    return true;
  int inter = 0;
  if (real::Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0) return false;
  MPI_Group some = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  if (real::Comm_group(comm, &some) != MPI_SUCCESS) return false;
  real::Comm_group(context().comm, &world);
  const std::vector<int> ranks = members_in(world, some);
  real::Group_free(&some);
  real::Group_free(&world);
  return std::find(ranks.begin(), ranks.end(), MPI_UNDEFINED) == ranks.end();
}

}  // namespace hob::mpi
