// What the ranks of one node share of a window: the log of what they fetched
// (docs/developers/cache.md, "Sharing on a node").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cache/shared_log.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/backend/near_targets.hpp"

namespace hob::mpi {

class NodeLog {
 public:
  /// Collective over `comm`, the window's processes. Null on all ranks of a node that has no second
  /// rank, or holds the whole window; null with a reason where it cannot share memory. `bytes`: the
  /// log's size, of which that of the node's lowest rank counts.
  static std::unique_ptr<NodeLog> open(MPI_Comm comm, std::uint64_t bytes, std::string& why_not);
  ~NodeLog();
  NodeLog(const NodeLog&) = delete;
  NodeLog& operator=(const NodeLog&) = delete;

  /// Whether this rank of the window is on this node, where nothing of it needs to be shared.
  bool near(int rank) const { return near_.contains(rank); }

  cache::SharedLog log;

 private:
  NodeLog(std::byte* memory, std::uint64_t bytes, std::uint32_t rank, std::vector<int> near);

  std::byte* memory_;
  std::uint64_t bytes_;
  NearTargets near_;
};

}  // namespace hob::mpi
