// Which requests Hob knows. Global, since a request is found from its handle alone, in every wait
// and test of the program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpi/requests/inactive.hpp"
#include "mpi/requests/table.hpp"
#include "mpi/requests/vain_polls.hpp"

namespace hob::mpi::requests {

/// What wrappers ask before all else, and what is remembered of handles beside the registry.
struct State {
  /// Operations and watched requests that are alive.
  std::atomic<std::int64_t> alive{0};

  /// Operations alone. With none, the library itself serves every wait and test, and those who
  /// watch get its results.
  std::atomic<std::int64_t> operations{0};

  /// The handle that the library gives to all requests of one-sided operations that are complete
  /// when their call returns, by its bits; 0: none is known (prebuilt.hpp).
  std::atomic<std::uint64_t> prebuilt{0};

  /// What served() returns (served.hpp), likewise; 0: there was none.
  std::atomic<std::uint64_t> served{0};

  /// Persistent requests that a call has completed. While the program has one thread.
  Inactive inactive;

  /// Written by the program's one thread.
  VainPolls vain_polls;

  /// How many handles with this hash are alive; at most 255, and these are never counted down. So
  /// most requests that Hob does not know are found by one load. Written under the table's lock.
  static constexpr int kHashBits = 12;
  std::atomic<std::uint8_t> known_handles[std::size_t{1} << kHashBits]{};
};

/// Of this process.
inline constinit State state;

/// Made at its first use, since libraries may start MPI before Hob's own constructors have run.
/// Never destroyed: requests may outlive everything else.
inline Registry& registry() {
  static auto& only = *new Registry;
  return only;
}

}  // namespace hob::mpi::requests
