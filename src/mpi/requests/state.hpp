// Which requests Hob knows. Global, since a request is found from its handle alone, in every wait
// and test of the program.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/lasting.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/requests/table.hpp"

namespace hob::mpi::requests {

/// Persistent requests of the library's that were waited for and not started since: complete, and
/// waiting for them shows nothing. The last ones; a library does not say which ones are inactive.
/// Only while the program has one thread.
class Inactive {
 public:
  static constexpr int kMost = 16;

  /// Some request is started or freed.
  void forget() {
    if (number_ != 0) number_ = 0;
  }
  void add(MPI_Request handle);
  bool has(MPI_Request handle) const;

 private:
  std::array<MPI_Request, kMost> handles_{};
  int number_ = 0;
};

/// The last MPI_Test, Testany, Testsome or Testall that completed nothing. Until Hob watches
/// another request, the same call again is the library's: nothing is learned from it unless it
/// completes something. Only while the program has one thread.
class VainPolls {
 public:
  /// Longer arrays are not copied for the case that something is complete.
  static constexpr int kMost = 16;

  /// These requests were asked last, and nothing was complete; so many were watched until then.
  void note(int count, const MPI_Request* requests, std::uint64_t watches) {
    if (count <= 0 || count > kMost) return;
    requests_ = requests;
    first_ = *requests;
    count_ = count;
    watches_ = watches;
  }

  /// Another request is watched: whoever watches it hears that it is asked for (asked()).
  void forget() { requests_ = nullptr; }

  /// These requests are asked again. Others in the array than the first may have changed.
  bool are(int count, const MPI_Request* requests) const {
    return requests == requests_ && requests && count == count_ && *requests == first_;
  }

  /// How many requests were watched before the call that asks these again.
  std::uint64_t watches() const { return watches_; }

 private:
  const MPI_Request* requests_ = nullptr;
  MPI_Request first_{};
  int count_ = 0;
  std::uint64_t watches_ = 0;
};

/// What wrappers ask before all else, and what is remembered of handles beside the registry.
struct State {
  /// Operations and watched requests that are alive.
  std::atomic<std::int64_t> alive{0};

  /// Operations alone. With none, the library itself serves every wait and test, and those who
  /// watch get its results.
  std::atomic<std::int64_t> operations{0};

  /// Of handles whose MPI_Start asks an operation, bits of their hashes; 0: there is none.
  std::atomic<std::uint64_t> start_bits{0};

  /// The handle that the library gives to all requests of one-sided operations that are complete
  /// when their call returns, by its bits; 0: none is known (prebuilt.hpp).
  std::atomic<std::uint64_t> prebuilt{0};
  /// How often it was looked for.
  std::atomic<int> prebuilt_tries{0};

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

inline Registry& registry() { return lasting<Registry>(); }

}  // namespace hob::mpi::requests
