#include "ghost/memory.hpp"

#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "os/memory.hpp"

namespace hob::ghost {

namespace {

// An accumulate lets others in after so many bytes: atomicity is per element.
constexpr std::uint64_t kAccumulateChunk = std::uint64_t{16} << 10;

bool all_inside(const Memory& memory, std::span<const Block> blocks) {
  for (const Block& block : blocks) {
    if (!memory.inside(block)) return false;
  }
  return true;
}

void apply(const std::byte* in, std::byte* inout, std::uint64_t bytes, Element element,
           unsigned operation, Combine combine) {
  if (operation == kOperationNoOp) return;
  if (operation == kOperationReplace) {
    std::memcpy(inout, in, bytes);
    return;
  }
  combine(in, inout, bytes / element.bytes, element.type, operation);
}

// A system call, if it were asked every time. No child of a process that uses MPI may use it.
pid_t own_pid() {
  static const pid_t pid = ::getpid();
  return pid;
}

}  // namespace

bool Memory::through_kernel() const { return target_.pid != 0 && target_.pid != own_pid(); }

bool Memory::move(Block block, std::byte* local, bool write) const {
  if (target_.pid == own_pid()) {
    auto* there = reinterpret_cast<std::byte*>(target_.address) + block.offset;
    std::memcpy(write ? there : local, write ? local : there, block.length);
    return true;
  }
  const std::uint64_t there = target_.address + static_cast<std::uint64_t>(block.offset);
  return write ? os::write_to(target_.pid, there, local, block.length)
               : os::read_from(target_.pid, there, local, block.length);
}

bool Memory::put(Block block, const std::byte* packed) const {
  if (!inside(block)) return false;
  if (std::byte* base = mapped()) {
    std::memcpy(base + block.offset, packed, block.length);
    return true;
  }
  return move(block, const_cast<std::byte*>(packed), true);
}

bool Memory::get(Block block, std::byte* packed) const {
  if (!inside(block)) return false;
  if (std::byte* base = mapped()) {
    std::memcpy(packed, base + block.offset, block.length);
    return true;
  }
  return move(block, packed, false);
}

bool Memory::put(std::span<const Block> blocks, const std::byte* packed) const {
  if (!all_inside(*this, blocks)) return false;
  for (const Block& block : blocks) {
    if (!put(block, packed)) return false;
    packed += block.length;
  }
  return true;
}

bool Memory::get(std::span<const Block> blocks, std::byte* packed) const {
  if (!all_inside(*this, blocks)) return false;
  for (const Block& block : blocks) {
    if (!get(block, packed)) return false;
    packed += block.length;
  }
  return true;
}

bool Memory::accumulate(std::span<const Block> blocks, const std::byte* packed, std::byte* result,
                        Element element, unsigned operation, Combine combine) const {
  if (!all_inside(*this, blocks)) return false;
  std::byte* base = mapped();
  if (base == nullptr && target_.pid == own_pid()) {
    base = reinterpret_cast<std::byte*>(target_.address);
  }
  const std::uint64_t step =
      std::max<std::uint64_t>(kAccumulateChunk / element.bytes, 1) * element.bytes;
  std::vector<std::byte> copy(base == nullptr ? step : 0);
  for (Block block : blocks) {
    while (block.length > 0) {
      const std::uint64_t bytes = std::min(step, block.length);
      {
        const Accumulating held(target_);
        std::byte* there = base != nullptr ? base + block.offset : copy.data();
        if (base == nullptr && !move({block.offset, bytes}, there, false)) return false;
        if (result != nullptr) std::memcpy(result, there, bytes);
        apply(packed, there, bytes, element, operation, combine);
        if (base == nullptr && operation != kOperationNoOp &&
            !move({block.offset, bytes}, there, true)) {
          return false;
        }
      }
      block.offset += static_cast<std::int64_t>(bytes);
      block.length -= bytes;
      if (packed != nullptr) packed += bytes;
      if (result != nullptr) result += bytes;
    }
  }
  return true;
}

bool Memory::compare_and_swap(std::int64_t offset, const std::byte* compare,
                              const std::byte* replace, std::byte* result,
                              std::uint32_t bytes) const {
  const Block block{offset, bytes};
  if (!inside(block) || bytes > 64) return false;
  std::array<std::byte, 64> old;
  const Accumulating held(target_);
  if (!get(block, old.data())) return false;
  if (std::memcmp(old.data(), compare, bytes) == 0 && !put(block, replace)) return false;
  std::memcpy(result, old.data(), bytes);
  return true;
}

}  // namespace hob::ghost
