// The job with ghosts in it: who is who, the memory that a node shares, and the communicator
// between them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "ghost/server.hpp"
#include "ghost/slices.hpp"
#include "ghost/timeline.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// What a ghost shows of itself in its node's shared memory.
struct GhostStatus {
  std::atomic<std::uint32_t> asleep;  ///< it blocks: whoever sends it something wakes it
  std::atomic<std::uint32_t> closed;  ///< it has served its last request; the rest does not change
  int pid;
  int wakeup_fd;               ///< number of its pipe's writing end in that process; -1: none
  std::uint64_t wakeup_inode;  ///< of that pipe
  int rank;                    ///< in the internal communicator
  int domain;                  ///< NUMA domain
  int application_ranks;       ///< bound to it by rank
  std::uint64_t started_ns;
  std::uint64_t ended_ns;
  std::uint64_t busy_ns;  ///< spent on requests
  std::uint64_t cpu_ns;   ///< processor time of its loop
  std::uint64_t sleeps;
  ghost::Server::Stats stats;
  ghost::Timeline timeline;
};

/// What the processes of a node share apart from what the ghosts show.
struct alignas(64) NodeStatus {
  /// How often a process of the program has opened MPI again after MPI_Finalize, at most
  /// (sessions.cpp).
  std::atomic<std::uint32_t> openings;
  /// A process of the program makes partitioned requests (partitioned.cpp).
  std::atomic<std::uint32_t> partitioned;
};

/// One rank of the internal communicator: every process that MPI_Init started, ghosts included.
struct ProcessPlace {
  std::int32_t node = 0;    ///< counts the nodes
  std::int32_t ghost = -1;  ///< ghosts: number on the node; application ranks: -1
  std::int32_t home = 0;    ///< application ranks: number of the ghost on its node that serves it
  std::int32_t application_rank =
      -1;  ///< application ranks: rank in the world that the program sees
};

/// The same in every process of the job; filled once at start, before the program runs.
struct GhostWorld {
  MPI_Comm internal_comm;  ///< Hob's own, over all processes
  MPI_Group internal_group;
  int rank = 0;                          ///< in the internal communicator
  std::vector<ProcessPlace> ranks;       ///< by rank in the internal communicator
  std::vector<std::vector<int>> ghosts;  ///< by node: internal ranks of its ghosts
  int own_node = 0;
  bool oversubscribed = false;    ///< more processes than hardware threads on this node, or on all
                                  ///< nodes together that are this machine
  int processes = 0;              ///< of this node, or machine, ghosts included
  int hardware_threads = 0;       ///< that they may run on, all in all
  bool shares_machine = false;    ///< other nodes are on this node's machine
  bool cliques = false;           ///< nodes are pretended (setting ghost_cliques)
  bool kernel_moves = false;      ///< processes of a node may read each other's memory
  bool network_moves = false;     ///< the network does puts and gets without their target's
                                  ///< processor; false where that was not asked
  std::byte* arena = nullptr;     ///< this node's shared memory
  std::uint64_t arena_bytes = 0;  ///< a multiple of the page
  std::unique_ptr<ghost::Slices> slices;  ///< application ranks: this process's part of it
  /// By rank in the internal communicator: where its part of its node's memory begins; ghosts: 0.
  std::vector<std::uint64_t> slice_begins;
  std::uint64_t slice_end = 0;  ///< where this process's own part ends
  NodeStatus* node_status = nullptr;
  std::vector<GhostStatus*> statuses;  ///< of this node's ghosts
  std::vector<int> pids;               ///< of this node's application ranks
  bool numbered_alike = false;         ///< a number means the same process to all of the node
  bool sees_peers = false;             ///< and all of them can be seen here

  const std::vector<int>& own_ghosts() const { return ghosts[static_cast<std::size_t>(own_node)]; }
  const ProcessPlace& own() const { return ranks[static_cast<std::size_t>(rank)]; }
};

/// This process, if it is a ghost.
struct OwnGhost {
  GhostStatus& status;
  int wakeup_fd;               ///< the reading end of its pipe; -1: none
  unsigned application_ranks;  ///< application ranks of its node
};

/// Null without ghosts, and after they have left (departure.hpp).
GhostWorld* ghost_world();

/// The same, but it stays: process sets of later sessions still have ghosts.
GhostWorld* launched_world();

/// Once, when the processes are divided (divide.hpp).
void set_launched_world(GhostWorld* world);

/// The program's world has ended: ghost_world() is null from now on.
void end_ghost_world();

/// Makes a sleeping ghost of this node look at its messages. Thread safe.
void wake(GhostStatus& status);

}  // namespace hob::mpi
