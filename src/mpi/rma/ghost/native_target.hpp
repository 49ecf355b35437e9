// What an origin knows of the native way to one target.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ghost/route.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

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

}  // namespace hob::mpi
