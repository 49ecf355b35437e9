// The targets of one ghost window: where their memory is and who serves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "ghost/binding.hpp"
#include "ghost/peer.hpp"

namespace hob::mpi {

/// What the processes of a window tell each other about their memory.
struct ExposedMemory {
  static constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t kOnAccelerator = kNowhere - 1;

  std::uint64_t header = kNowhere;  ///< offset of its ghost::Target in the node's arena
  std::uint64_t size = 0;           ///< bytes
  std::int64_t unit = 1;            ///< displacement unit: MPI_Win_create_c takes any
  std::int64_t flag = 0;
  std::uint64_t serial = 0;  ///< of the first member: with its rank, the window's number
};

/// Holding the client covers everything but what never changes: memory and ranks.
class GhostTargets {
 public:
  struct Target {
    ghost::Peer peer;
    bool locked = false;  ///< by MPI_Win_lock
  };

  /// `ranks`: of the window's members in the internal communicator.
  GhostTargets(std::vector<ExposedMemory> memory, std::vector<int> ranks);

  bool exists(int target) const { return target >= 0 && target < static_cast<int>(memory_.size()); }
  const ExposedMemory& memory(int target) const {
    return memory_[static_cast<std::size_t>(target)];
  }
  /// Its rank in the internal communicator.
  int rank(int target) const { return ranks_[static_cast<std::size_t>(target)]; }
  /// A number that all members know, and no other window of the job has.
  std::uint64_t window_number() const {
    return static_cast<std::uint64_t>(ranks_[0]) << 32 | memory_[0].serial;
  }

  /// Null before the first use.
  Target* find(int target) { return targets_[static_cast<std::size_t>(target)].get(); }
  Target& add(int target);

  /// All that are used. `act` may wait: other threads may add some meanwhile.
  template <class Act>
  void each(Act act) {
    for (std::size_t i = 0; i < used_.size(); ++i) act(used_[i]->peer);
  }

 private:
  const ghost::Segments& segments(int node);

  std::vector<ExposedMemory> memory_;
  std::vector<int> ranks_;
  std::vector<std::unique_ptr<Target>> targets_;
  std::vector<Target*> used_;
  std::vector<std::pair<int, std::unique_ptr<ghost::Segments>>> segments_;  // by node
  std::vector<std::size_t> place_on_node_;  // segment binding: number of each target on its node
};

}  // namespace hob::mpi
