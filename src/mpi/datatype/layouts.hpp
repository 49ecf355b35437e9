// What Hob must know of a datatype: where its bytes lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// Bytes [offset, offset + bytes) relative to the buffer's address.
struct Block {
  std::int64_t offset;
  std::uint64_t bytes;
  friend bool operator==(const Block&, const Block&) = default;
};

/// The flattened layout of one element of a datatype (paper II-B). Immutable and shared: equal
/// layouts of different handles are one object, so that a freed and reused handle cannot be
/// mistaken for another.
struct Layout {
  bool usable = false;        ///< false: too irregular or too large to flatten; leave to MPI
  bool dense = false;         ///< any number of elements in a row is one block
  std::uint64_t size = 0;     ///< bytes of data in one element
  std::int64_t extent = 0;    ///< distance in bytes between two elements in a row
  std::int64_t low = 0;       ///< lowest byte of one element (true lower bound)
  std::int64_t high = 0;      ///< one past the highest byte of one element
  std::uint64_t id = 0;       ///< 0 if dense, else unique among layouts of this process
  std::vector<Block> blocks;  ///< in the order of the type map, neighbours merged

  /// Lowest byte, and one past the highest, of `count` elements in a row.
  std::int64_t lowest(std::int64_t count) const {
    return extent < 0 ? low + extent * (count - 1) : low;
  }
  std::int64_t highest(std::int64_t count) const {
    return extent > 0 ? high + extent * (count - 1) : high;
  }
};

/// Layout of a datatype handle. Thread safe. A handle seen before costs nanoseconds. The object
/// lives as long as the process: a get may be under way after the program freed its datatype.
/// Programs that keep making new layouts get unusable ones once some megabytes are in use.
const Layout& layout_of(MPI_Datatype type);

/// To be called before a handle is freed: the library may give the same value to another type.
void forget_layout(MPI_Datatype type);

/// Copies the first `bytes` bytes of the type map of elements at `buffer` to contiguous `packed`,
/// starting `skip` bytes into the type map.
void pack(const Layout& layout, const void* buffer, std::byte* packed, std::uint64_t bytes,
          std::uint64_t skip = 0);

/// The reverse.
void unpack(const Layout& layout, void* buffer, const std::byte* packed, std::uint64_t bytes,
            std::uint64_t skip = 0);

}  // namespace hob::mpi
