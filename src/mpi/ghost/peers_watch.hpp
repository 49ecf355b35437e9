// Whether other processes of this node still live.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "mpi/ghost/world.hpp"

namespace hob::mpi {

/// Not thread safe.
class PeersWatch {
 public:
  /// `seen`: all have been seen alive, so that one which is not there has ended. Otherwise
  /// processes that this one may not see are not watched.
  PeersWatch(const std::vector<int>& pids, bool seen);
  ~PeersWatch();
  PeersWatch(const PeersWatch&) = delete;
  PeersWatch& operator=(const PeersWatch&) = delete;

  /// Those that have ended since the last call, by their place in `pids`; they are forgotten. Costs
  /// a system call.
  std::vector<std::size_t> some_ended();
  /// None is known to live.
  bool all_ended() const { return alive_.empty(); }
  /// Become readable when a process ends; for poll(2).
  const std::vector<pollfd>& alive() const { return alive_; }

 private:
  std::vector<pollfd> alive_;
  std::vector<std::size_t> places_;
  std::vector<std::size_t> gone_;  ///< before this object was made
};

/// A process is gone and the job cannot go on: says why, and aborts it.
[[noreturn]] void end_job(const std::string& why);

/// Process numbers of this node's ghosts, in their order.
std::vector<int> ghost_pids(const GhostWorld& world);

/// The same for a ghost of this node, by its number: names it.
[[noreturn]] void end_without_ghost(const GhostWorld& world, std::size_t number);

}  // namespace hob::mpi
