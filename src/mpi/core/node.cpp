#include "mpi/core/node.hpp"

#include <numeric>

#include "mpi/core/members.hpp"
#include "mpi/pmpi/real.hpp"
#include "os/affinity.hpp"

namespace hob::mpi {
Node::Node(MPI_Comm all, int cliques) {
  if (real::Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm_) != MPI_SUCCESS) {
    comm_ = MPI_COMM_NULL;
    return;
  }
  real::Comm_rank(comm_, &rank_);
  real::Comm_size(comm_, &size_);
  if (cliques <= 1) return;
  MPI_Comm part = MPI_COMM_NULL;
  real::Comm_split(comm_, rank_ * cliques / size_, rank_, &part);
  real::Comm_free(&comm_);
  comm_ = part;
  real::Comm_rank(comm_, &rank_);
  real::Comm_size(comm_, &size_);
}

Node::~Node() {
  if (known()) real::Comm_free(&comm_);
}

std::vector<int> Node::ranks_in(MPI_Comm all) const {
  std::vector<int> own(static_cast<std::size_t>(size_));
  std::iota(own.begin(), own.end(), 0);
  return translated(comm(), own, all);
}

std::vector<std::vector<int>> Node::allowed_cpus() const {
  const std::vector<int> own = os::own_cpus();
  const auto ranks = static_cast<std::size_t>(size_);
  const int count = static_cast<int>(own.size());
  std::vector<int> counts(ranks);
  real::Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm());
  std::vector<int> starts(ranks, 0);
  std::partial_sum(counts.begin(), counts.end() - 1, starts.begin() + 1);
  std::vector<int> all(static_cast<std::size_t>(starts.back() + counts.back()));
  real::Allgatherv(own.data(), count, MPI_INT, all.data(), counts.data(), starts.data(), MPI_INT,
                   comm());
  std::vector<std::vector<int>> allowed(ranks);
  for (std::size_t r = 0; r < ranks; ++r)
    allowed[r].assign(all.begin() + starts[r], all.begin() + starts[r] + counts[r]);
  return allowed;
}

}  // namespace hob::mpi
