// What an origin knows of the native way to one target.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ghost/route.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// By what the ways to a target are judged, as the setting and the network want it (NativeWay).
const ghost::Route::Config& route_config();

/// Operations since the last completion.
struct NativeTarget {
  ghost::Route route{route_config()};
  std::uint32_t native = 0;  ///< puts and gets that went natively
  std::uint32_t ghosts = 0;  ///< puts and gets that went to ghosts
  bool others = false;       ///< other operations, which only ghosts do, went there as well
  bool turn = false;         ///< where both ways are taken in turn: this one's is the native one
  std::uint64_t bytes = 0;
  std::uint64_t issued_ns = 0;  ///< spent on issuing them
  /// A get of the first bytes of the target's memory that nobody waits for, and whether it is older
  /// than the last completion: then it is lost.
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
