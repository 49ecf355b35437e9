// Whether a job has the right number of ghosts, in sentences for its report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hob::ghost {

/// What is known of the ghosts of one node when they have ended.
struct GhostUse {
  struct Ghost {
    std::uint64_t operations = 0;
    std::uint64_t busy_ns = 0;   ///< spent on requests
    std::uint64_t lived_ns = 0;  ///< from its first look to its last
  };
  unsigned nodes = 1;         ///< of the job
  std::uint64_t windows = 0;  ///< that ghosts could serve
  std::uint64_t direct = 0;   ///< operations of one rank that went through shared memory
  std::vector<Ghost> ghosts;
  std::string host{};        ///< the name of the node, for people
  std::uint64_t native = 0;  ///< operations of one rank that the network did by itself
};

/// A ghost that is busy for a larger part of its life makes its application ranks wait: replies
/// queue up.
inline constexpr double kBusyGhost = 0.8;
/// Ghosts that together are busy for less than this leave nothing for a second one to gain.
inline constexpr double kIdleGhosts = 0.2;

/// Jobs of more nodes do not name each node in a sentence: equal ones are shown once.
inline constexpr unsigned kNodesToName = 8;

/// Whole sentences; none where nothing is wrong. No numbers that differ from node to node.
std::vector<std::string> advice(const GhostUse& use);

}  // namespace hob::ghost
