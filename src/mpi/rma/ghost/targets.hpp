// The targets of one ghost window: where their memory is and who serves it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/per_rank.hpp"
#include "ghost/binding.hpp"
#include "ghost/peer.hpp"
#include "ghost/route.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/ghost/window_members.hpp"

namespace hob::mpi {

/// What the processes of a window have reported to each other about their memory.
struct ExposedMemory {
  /// Where each one's ghost::Target is: bytes from the start of its slice of its node's arena.
  /// Processes that have made the same windows have it at the same place.
  PerRank headers;
  PerRank sizes;              ///< bytes
  PerRank units{1};           ///< displacement units: MPI_Win_create_c takes any
  std::uint64_t serial = 0;   ///< of the first member: with its rank, the window's number
  bool all_in_arena = false;  ///< the memory of all: ghosts never fail to reach it
};

/// By what the ways to a target are judged.
inline constexpr ghost::Route::Config kRoute{
    .first_trial_after = tuning::ghost::kFirstTrialAfter,
    .last_trial_after = tuning::ghost::kLastTrialAfter,
    .stall = tuning::ghost::kNativeStall,
    .least_stall_ns = tuning::ghost::kLeastNativeStallNs,
    .stall_forgotten = tuning::ghost::kStallForgotten,
};

/// Operations since the last completion.
struct NativeTarget {
  ghost::Route route{kRoute};
  std::uint32_t native = 0;  ///< puts and gets that went natively
  std::uint32_t ghosts = 0;  ///< puts and gets that went to ghosts
  bool others = false;       ///< other operations, which only ghosts do, went there as well
  std::uint64_t bytes = 0;
  std::uint64_t issued_ns = 0;  ///< spent on issuing them
  /// A get of the first bytes of the target's memory that no call waits for, and whether it is
  /// older than the last completion: then it is lost.
  MPI_Request trial = MPI_REQUEST_NULL;
  bool trial_is_lost = false;
  std::array<std::byte, 8> tried{};

  void begin_anew() {
    native = ghosts = 0;
    others = false;
    bytes = issued_ns = 0;
  }
};

/// Holding the client covers everything but what never changes: memory and ranks. What grows with
/// the number of members is one pointer for each kPage of them.
class GhostTargets {
 public:
  struct Target {
    ghost::Peer peer;
    int rank = 0;         ///< in the window
    bool locked = false;  ///< by MPI_Win_lock
    NativeTarget native;
  };
  static constexpr std::size_t kPage = 128;

  GhostTargets(ExposedMemory memory, std::shared_ptr<GhostMembers> members)
      : memory_(std::move(memory)),
        members_(std::move(members)),
        pages_((members_->ranks.size() + kPage - 1) / kPage) {}

  bool exists(int target) const {
    return target >= 0 && static_cast<std::size_t>(target) < members_->ranks.size();
  }
  std::uint64_t size(int target) const { return memory_.sizes.of(target); }
  std::int64_t unit(int target) const {
    return static_cast<std::int64_t>(memory_.units.of(target));
  }
  bool all_in_arena() const { return memory_.all_in_arena; }
  /// Where its ghost::Target is in its node's arena.
  std::uint64_t header(int target) const;
  /// Its rank in the internal communicator.
  int rank(int target) const { return members_->ranks[static_cast<std::size_t>(target)]; }
  /// A number that all members know, and no other window of the job has.
  std::uint64_t window_number() const {
    return static_cast<std::uint64_t>(rank(0)) << 32 | memory_.serial;
  }

  /// Null before the first use.
  Target* find(int target) const {
    const auto at = static_cast<std::size_t>(target);
    const auto& page = pages_[at / kPage];
    return page ? (*page)[at % kPage].get() : nullptr;
  }
  Target& add(int target);

  /// All that are used. `act` may wait: other threads may add some meanwhile.
  template <class Act>
  void each(Act act) {
    each_target([&](Target& target) { act(target.peer); });
  }
  template <class Act>
  void each_target(Act act) {
    for (std::size_t i = 0; i < used_.size(); ++i) act(*used_[i]);
  }

  /// Beside what windows of the same members share.
  std::size_t memory_bytes() const;

 private:
  using Page = std::array<std::unique_ptr<Target>, kPage>;

  const ghost::Segments& segments(int node);

  ExposedMemory memory_;
  std::shared_ptr<GhostMembers> members_;
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<Target*> used_;
  std::vector<std::pair<int, std::unique_ptr<ghost::Segments>>> segments_;  // by node
};

}  // namespace hob::mpi
