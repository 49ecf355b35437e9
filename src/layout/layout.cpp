#include "layout/layout.hpp"

#include <algorithm>
#include <cstring>

namespace hob::layout {
namespace {

/// Calls act(pointer into buffer, bytes) for the bytes [skip, skip + bytes) of the type map.
template <class Act>
void each_block(const Layout& layout, std::uint64_t skip, std::uint64_t bytes, Act act) {
  if (layout.dense) {
    act(layout.low + static_cast<std::int64_t>(skip), bytes);
    return;
  }
  std::int64_t base = static_cast<std::int64_t>(skip / layout.size) * layout.extent;
  skip %= layout.size;
  while (bytes > 0) {
    for (const Block& block : layout.blocks) {
      if (skip >= block.bytes) {
        skip -= block.bytes;
        continue;
      }
      const std::uint64_t now = std::min(block.bytes - skip, bytes);
      act(base + block.offset + static_cast<std::int64_t>(skip), now);
      skip = 0;
      bytes -= now;
      if (bytes == 0) return;
    }
    base += layout.extent;
  }
}

}  // namespace

void pack(const Layout& layout, const void* buffer, std::byte* packed, std::uint64_t bytes,
          std::uint64_t skip) {
  each_block(layout, skip, bytes, [&](std::int64_t offset, std::uint64_t length) {
    std::memcpy(packed, static_cast<const std::byte*>(buffer) + offset, length);
    packed += length;
  });
}

void unpack(const Layout& layout, void* buffer, const std::byte* packed, std::uint64_t bytes,
            std::uint64_t skip) {
  each_block(layout, skip, bytes, [&](std::int64_t offset, std::uint64_t length) {
    std::memcpy(static_cast<std::byte*>(buffer) + offset, packed, length);
    packed += length;
  });
}

}  // namespace hob::layout
