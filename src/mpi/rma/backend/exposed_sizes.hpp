// How much memory each target of a window shows, and what of it may be read unasked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/per_rank.hpp"
#include "cache/readahead.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// What each process reports of its own part of a window's memory: where the part begins within a
/// page of kSmallestPage bytes, kAllReadable, or kNotLookedAt.
using Readable = std::uint64_t;
/// No page of any machine is smaller, and all begin at a multiple of it.
inline constexpr std::uint64_t kSmallestPage = 4096;
inline constexpr Readable kAllReadable = kSmallestPage;
/// Of a process that reads nothing ahead itself: nothing but what a get asks for may be read.
inline constexpr Readable kNotLookedAt = kSmallestPage + 1;

/// May be called for any range. `given`: memory that the MPI library or Hob allocated for windows.
Readable readable_of(const void* base, std::uint64_t bytes, bool given);

/// Exposed bytes of all targets. Unknown sizes are 0. Copies share their memory.
class ExposedSizes {
 public:
  /// The sizes of all processes of a window, exchanged when it is made. Collective over `comm`,
  /// through the MPI library. `smallest` and `largest` are those of all ranks.
  void gather(std::uint64_t own, std::uint64_t smallest, std::uint64_t largest, MPI_Comm comm);
  void gather_readable(Readable own, Readable smallest, Readable largest, MPI_Comm comm);
  /// Where all sizes are known already.
  void assign(PerRank sizes, PerRank readable = PerRank(0)) {
    sizes_ = std::move(sizes);
    readable_ = std::move(readable);
  }
  std::uint64_t of(int target) const { return sizes_.of(target); }
  const PerRank& sizes() const { return sizes_; }
  /// All members have looked again: the memory of each may be read as a whole by now.
  void know_all_readable() { readable_ = PerRank(kAllReadable); }

  /// Which bytes of a target may be read because of a get of these: all of them where that is
  /// known to be harmless, else those of the pages that the get itself reads. A library's get
  /// begins at a multiple of `unit`, and so does the range.
  cache::Readahead::Range around(int target, std::uint64_t displacement, std::uint64_t size,
                                 std::uint64_t unit) const;

  std::size_t memory_bytes() const { return sizes_.memory_bytes() + readable_.memory_bytes(); }

 private:
  PerRank sizes_;
  PerRank readable_{0};
};

}  // namespace hob::mpi
