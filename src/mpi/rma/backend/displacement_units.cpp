#include "mpi/rma/backend/displacement_units.hpp"

#include <algorithm>
#include <utility>

#include "mpi/pmpi/real.hpp"

namespace hob::mpi {

int DisplacementUnits::exchange(std::int64_t own, std::uint64_t bytes, ExposedSizes& exposed,
                                bool& flag, bool& all, bool rejects, MPI_Comm comm) {
  int rank = 0, size = 0;
  real::Comm_rank(comm, &rank);
  real::Comm_size(comm, &size);
  const auto signed_bytes = static_cast<std::int64_t>(bytes);
  std::int64_t bounds[7] = {own,  -own,         flag,         rejects ? size - rank : 0,
                            !all, signed_bytes, -signed_bytes};
  real::Allreduce(MPI_IN_PLACE, bounds, 7, MPI_INT64_T, MPI_MAX, comm);
  exposed.gather(bytes, static_cast<std::uint64_t>(-bounds[6]),
                 static_cast<std::uint64_t>(bounds[5]), comm);
  flag = bounds[2] != 0;
  all = bounds[4] == 0;
  common_ = own;
  const int rejecting_rank = bounds[3] == 0 ? -1 : size - static_cast<int>(bounds[3]);
  if (bounds[0] == -bounds[1]) return rejecting_rank;
  each_.resize(static_cast<std::size_t>(size));
  real::Allgather(&own, 1, MPI_INT64_T, each_.data(), 1, MPI_INT64_T, comm);
  return rejecting_rank;
}

void DisplacementUnits::learn(std::vector<int> each) {
  common_ = each.front();
  const bool equal =
      std::all_of(each.begin(), each.end(), [&](int unit) { return unit == common_; });
  if (!equal) each_.assign(each.begin(), each.end());
}

}  // namespace hob::mpi
