#include "mpi/rma/backend/exposed_sizes.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "mpi/pmpi/real.hpp"

namespace hob::mpi {

void ExposedSizes::gather(std::uint64_t own, std::uint64_t smallest, std::uint64_t largest,
                          MPI_Comm comm) {
  common_ = own;
  if (smallest == largest) return;
  int size = 0;
  real::Comm_size(comm, &size);
  each_.resize(static_cast<std::size_t>(size));
  real::Allgather(&own, 1, MPI_UINT64_T, each_.data(), 1, MPI_UINT64_T, comm);
}

void ExposedSizes::assign(std::vector<std::uint64_t> each) {
  common_ = each.front();
  if (std::adjacent_find(each.begin(), each.end(), std::not_equal_to<>()) == each.end())
    each_.clear();
  else
    each_ = std::move(each);
}

}  // namespace hob::mpi
