// The processes of one node.
#pragma once

#include <vector>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// A communicator over the processes of a communicator that can share memory, as the MPI library
/// sees it. Making one is collective over that communicator, destroying it over the node.
class Node {
 public:
  /// `cliques` > 1: the node counts as so many, of about equal size, for tests on one machine.
  explicit Node(MPI_Comm all, int cliques = 1);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// False if the library could not say; then the node is this process alone.
  bool known() const { return comm_ != MPI_COMM_NULL; }
  /// MPI_COMM_SELF if unknown.
  MPI_Comm comm() const { return known() ? comm_ : MPI_COMM_SELF; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  /// The ranks that the processes of the node have in another communicator. Local.
  std::vector<int> ranks_in(MPI_Comm all) const;

  /// The CPUs that each process of the node may run on, by rank. Collective.
  std::vector<std::vector<int>> allowed_cpus() const;

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace hob::mpi
