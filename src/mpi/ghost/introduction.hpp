// What the processes of a launch say of themselves before they are divided into ranks and ghosts.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace hob::mpi {

class Node;
struct GhostWorld;

/// What a process says of itself, all at once: where processes share cores, each collective call
/// takes a turn of all of them.
struct Introduction {
  std::uint64_t machine;    ///< of its boot
  std::uint64_t cpus;       ///< of those that its node may use
  std::uint64_t numbering;  ///< containers may number their processes themselves
  std::uint64_t address;    ///< of a word in its memory, and what the word is
  std::uint64_t word;
  std::int32_t leader;   ///< of its node: rank in the internal communicator
  std::int32_t program;  ///< MPI_APPNUM
  std::int32_t pid;
  std::int32_t asks_network;  ///< whether it wants to know if the network moves data
};
/// By rank in the internal communicator.
using Introductions = std::vector<Introduction>;

/// `usable`: the CPUs of the node. Collective over the internal communicator. From now on, other
/// processes of the same user may read this one's memory (PR_SET_PTRACER).
Introductions introduce(const Node& node, const std::set<int>& usable, const GhostWorld& world);

/// The ranks of each node, by leader.
std::map<int, std::vector<int>> nodes_of(const Introductions& all);

/// Which of the job's programs each rank runs; empty where it is one.
std::vector<int> programs_of_ranks(const Introductions& all);

/// The ranks in the internal communicator that a node has, by their ranks in the node.
std::vector<int> ranks_of_job(const Node& node, const GhostWorld& world);

/// Whether the system lets this process read and write the memory of its node's first one: tried,
/// since it depends on much.
bool kernel_moves_memory(const Introductions& all, const GhostWorld& world);

}  // namespace hob::mpi
