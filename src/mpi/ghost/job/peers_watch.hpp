// What is done when a process of this node has ended.
#pragma once

#include <string>
#include <vector>

#include "mpi/ghost/job/world.hpp"
#include "os/process_monitor.hpp"

namespace hob::mpi {

/// A process is gone and the job cannot go on: says why, and aborts it.
[[noreturn]] void end_job(const std::string& why);

/// Process numbers of this node's ghosts, and of its application ranks, in their order. Empty where
/// containers of the node number their processes themselves: a number may mean any process then.
std::vector<int> ghost_pids(const GhostWorld& world);
std::vector<int> application_pids(const GhostWorld& world);

/// The same for a ghost of this node, by its number: names it.
[[noreturn]] void end_without_ghost(const GhostWorld& world, std::size_t number);

}  // namespace hob::mpi
