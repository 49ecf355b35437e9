// The job with ghosts in it: who is who, the memory that a node shares, and the way between them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ghost/server.hpp"
#include "ghost/slices.hpp"
#include "ghost/timeline.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// What a ghost shows of itself in its node's shared memory.
struct GhostBoard {
  std::atomic<std::uint32_t> asleep;  ///< it blocks: whoever sends it something rings its bell
  std::atomic<std::uint32_t> closed;  ///< it has served its last request; the rest does not change
  int pid;
  int bell;    ///< number of its pipe's writing end in that process
  int rank;    ///< on the wire
  int domain;  ///< NUMA domain
  int users;   ///< bound to it by rank
  std::uint64_t started_ns;
  std::uint64_t ended_ns;
  std::uint64_t busy_ns;  ///< spent on requests
  std::uint64_t cpu_ns;   ///< processor time of its loop
  std::uint64_t sleeps;
  ghost::Server::Stats stats;
  ghost::Timeline timeline;
};

/// One rank of the wire: every process that MPI_Init started, ghosts included.
struct WireRank {
  std::int32_t node = 0;    ///< counts the nodes
  std::int32_t ghost = -1;  ///< ghosts: number on the node; users: -1
  std::int32_t home = 0;    ///< users: number of the ghost on its node that serves it
  std::int32_t user = -1;   ///< users: rank in the world that the program sees
};

/// The same in every process of the job; filled once at start, before the program runs.
struct GhostWorld {
  MPI_Comm wire;  ///< Hob's own, over all processes
  MPI_Group wire_group;
  int rank = 0;                          ///< on the wire
  std::vector<WireRank> ranks;           ///< by wire rank
  std::vector<std::vector<int>> ghosts;  ///< by node: wire ranks of its ghosts
  int own_node = 0;
  bool crowded = false;        ///< more processes than cores on this node
  bool cliques = false;        ///< nodes are pretended (setting ghost_cliques)
  bool kernel_moves = false;   ///< processes of a node may read each other's memory
  std::byte* arena = nullptr;  ///< this node's shared memory
  std::uint64_t arena_bytes = 0;
  std::unique_ptr<ghost::Slices> slices;  ///< users: this process's part of it
  std::vector<GhostBoard*> boards;        ///< of this node's ghosts
  std::vector<int> pids;                  ///< of this node's users

  const std::vector<int>& own_ghosts() const { return ghosts[static_cast<std::size_t>(own_node)]; }
};

/// Null without ghosts.
GhostWorld* ghost_world();

/// Right after MPI_Init, if settings.ghosts > 0: divides the processes. In users it returns the
/// communicator that stands for MPI_COMM_WORLD; ghosts serve and never return. MPI_COMM_NULL where
/// there are to be no ghosts (a spawned world, or setting 0).
MPI_Comm divide_world();

/// In users, before the report is written: the program has ended everywhere. Ghosts finish.
void dismiss_ghosts();

/// After the report: frees what is Hob's, collectively with the ghosts.
void leave_ghosts();

/// Makes a sleeping ghost of this node look at its messages.
void ring(GhostBoard& board);

/// A ghost's life (ghost_service.cpp). Returns when its node's users have said goodbye.
void serve(GhostWorld& world, GhostBoard& board, unsigned users);

}  // namespace hob::mpi
