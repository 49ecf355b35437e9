// Whether other processes of this machine still live (pidfd).
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "os/own_descriptor.hpp"

namespace hob::os {

/// Not thread safe.
class ProcessMonitor {
 public:
  /// `seen`: all have been seen alive, so that one which is not there has ended. Otherwise
  /// processes that this one may not see are not watched.
  ProcessMonitor(const std::vector<int>& pids, bool seen);
  ~ProcessMonitor() = default;
  ProcessMonitor(const ProcessMonitor&) = delete;
  ProcessMonitor& operator=(const ProcessMonitor&) = delete;

  /// Those that have ended since the last call, by their place in `pids`; they are forgotten. Costs
  /// a system call.
  std::vector<std::size_t> some_ended();
  /// None is known to live.
  bool all_ended() const { return alive_.empty(); }
  /// Become readable when a process ends; for poll(2).
  const std::vector<pollfd>& alive() const { return alive_; }

 private:
  struct Process {
    std::size_t place;
    int pid;
    OwnDescriptor descriptor;
  };
  bool has_ended(std::size_t which);

  std::vector<pollfd> alive_;
  std::vector<Process> processes_;  ///< of the same places
  std::vector<std::size_t> gone_;   ///< before this object was made
};

}  // namespace hob::os
