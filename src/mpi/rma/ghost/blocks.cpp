#include "mpi/rma/ghost/blocks.hpp"

#include <algorithm>
#include <cstddef>

#include "mpi/datatype/elements.hpp"
#include "mpi/datatype/layouts.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {
namespace {

// The offset of each byte of one element, in the order of packing. For types of which
// layout_of() knows none: packing shows where each byte comes from. Four passes give the four bytes
// of every offset.
bool packed_offsets(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent, int size,
                    std::vector<std::uint32_t>& offsets) {
  std::vector<std::byte> memory(static_cast<std::size_t>(extent));
  std::vector<std::byte> packed(static_cast<std::size_t>(size) + 64);
  offsets.assign(static_cast<std::size_t>(size), 0);
  for (unsigned pass = 0; pass < 4; ++pass) {
    for (std::size_t i = 0; i < memory.size(); ++i)
      memory[i] = static_cast<std::byte>(i >> (8 * pass));
    int position = 0;
    if (real::Pack(memory.data() - lower, 1, type, packed.data(), static_cast<int>(packed.size()),
                   &position, MPI_COMM_SELF) != MPI_SUCCESS ||
        position != size) {
      return false;
    }
    for (std::size_t i = 0; i < offsets.size(); ++i)
      offsets[i] |= std::to_integer<std::uint32_t>(packed[i]) << (8 * pass);
  }
  return true;
}

bool discovered_blocks(MPI_Datatype type, MPI_Count count, std::int64_t start,
                       std::vector<ghost::Block>& blocks) {
  constexpr MPI_Aint most = MPI_Aint{1} << 28;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  int size = 0;
  real::Type_get_true_extent(type, &lower, &extent);
  real::Type_size(type, &size);
  if (extent < 0 || extent > most || size == MPI_UNDEFINED) return false;
  std::vector<std::uint32_t> offsets;
  if (!packed_offsets(type, lower, extent, size, offsets)) return false;
  MPI_Aint unused = 0;
  real::Type_get_extent(type, &unused, &extent);
  for (MPI_Count i = 0; i < count; ++i) {
    for (const std::uint32_t offset : offsets)
      ghost::append_block(blocks, {start + i * extent + lower + offset, 1});
  }
  return true;
}

}  // namespace

bool data_blocks(MPI_Datatype type, MPI_Count count, std::int64_t start,
                 std::vector<ghost::Block>& blocks) {
  blocks.clear();
  if (count <= 0) return true;
  const Layout& layout = layout_of(type);
  if (!layout.usable) return discovered_blocks(type, count, start, blocks);
  if (layout.size == 0) return true;
  if (layout.dense) {
    blocks.push_back({start + layout.low, layout.size * static_cast<std::uint64_t>(count)});
    return true;
  }
  for (MPI_Count i = 0; i < count; ++i) {
    for (const Block& block : layout.blocks)
      ghost::append_block(blocks, {start + i * layout.extent + block.offset, block.bytes});
  }
  return true;
}

bool element_blocks(MPI_Datatype type, MPI_Count count, ghost::Element element, std::int64_t start,
                    std::vector<ghost::Block>& blocks) {
  if (!data_blocks(type, count, start, blocks)) return false;
  const std::uint64_t size = data_bytes_of(element);
  if (size == element.bytes) return true;
  // A type with padding: one block for each element, from its first data byte.
  std::vector<ghost::Block> data;
  data.swap(blocks);
  std::uint64_t missing = 0;  // data bytes of the element that has begun
  for (ghost::Block block : data) {
    while (block.length > 0) {
      if (missing == 0) {
        ghost::append_block(blocks, {block.offset, element.bytes});
        missing = size;
      }
      const std::uint64_t take = std::min(missing, block.length);
      missing -= take;
      block.offset += static_cast<std::int64_t>(take);
      block.length -= take;
    }
  }
  return true;
}

}  // namespace hob::mpi
