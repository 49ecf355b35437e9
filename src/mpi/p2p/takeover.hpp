// Which receives Hob takes over: what the user asks for, and what this process measured.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/lasting.hpp"
#include "match/sampler.hpp"
#include "match/takeover_policy.hpp"
#include "mpi/p2p/state.hpp"
#include "mpi/pmpi/library/library.hpp"

namespace hob::mpi::p2p {

/// Set when MPI starts; what is measured, and foreign_processes_possible, changes under the gate.
struct Takeover {
  enum class Mode { never, automatic, always };
  Mode mode = Mode::never;
  std::uint64_t user_threshold = 0;  ///< the user's own, or 0
  /// So many receives in the PRQ go to the library when they are waited for.
  std::uint64_t few = 0;
  bool lone_waits_in_library = false;  ///< blocking receives with nothing else posted
  match::MatchCosts costs;
  double vain_poll = 0;  ///< ticks that a look at the library takes which finds no message
  /// Among the messages there may be Open MPI's announcements of partitioned transfers.
  bool sees_announcements = false;
  bool foreign_processes_possible = false;  ///< an intercommunicator was merged

  /// So many messages in Hob's UMQ (`queued`) at most, and bytes (`queued_bytes`).
  static constexpr std::uint64_t kMostUnexpected = library::kTraits.most_unexpected;
  std::uint64_t most_bytes = UINT64_MAX;
  bool full() const {
    return matching.queued.load(std::memory_order_relaxed) >= kMostUnexpected ||
           matching.queued_bytes.load(std::memory_order_relaxed) >= most_bytes;
  }
};

inline Takeover& takeover() { return lasting<Takeover>(); }

match::Sampler::Config sampler_config();
/// `over_libfabric`: of a communicator whose messages come that way.
match::TakeoverPolicy::Config policy_config(std::uint64_t user_threshold, bool over_libfabric);

}  // namespace hob::mpi::p2p
