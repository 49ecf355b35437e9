// Where the bytes of an element lie, and how they are packed. Pure: knows no MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hob::layout {

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

/// Copies the first `bytes` bytes of the type map of elements at `buffer` to contiguous `packed`,
/// starting `skip` bytes into the type map.
void pack(const Layout& layout, const void* buffer, std::byte* packed, std::uint64_t bytes,
          std::uint64_t skip = 0);

/// The reverse.
void unpack(const Layout& layout, void* buffer, const std::byte* packed, std::uint64_t bytes,
            std::uint64_t skip = 0);

/// One block at buffer + low, whatever the count.
inline bool one_block(const Layout& layout, std::int64_t count) {
  return layout.dense || (count == 1 && layout.blocks.size() == 1);
}

}  // namespace hob::layout
