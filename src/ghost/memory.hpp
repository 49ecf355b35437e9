// Access to the memory of a target from another process of its node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ghost/block.hpp"
#include "ghost/target.hpp"

namespace hob::ghost {

/// inout = op(inout, in) for `count` elements; types and operations are numbers on which all
/// processes agree. Must know every pair that it is called with.
using Combine = void (*)(const void* in, void* inout, std::size_t count, unsigned type,
                         unsigned operation);

/// Operations that Combine need not know.
inline constexpr unsigned kOperationReplace = 0;
inline constexpr unsigned kOperationNoOp = 1;

/// One element type of accumulates.
struct Element {
  unsigned type = 0;        ///< number of the type
  std::uint32_t bytes = 1;  ///< its extent
};

/// The memory behind a Target. Every function returns false, with no byte moved, when a block is
/// not inside the exposed memory, and false when the memory's process cannot be reached any more.
/// Thread safe as far as MPI asks it: accumulates are atomic per element against all others.
class Memory {
 public:
  explicit Memory(Target& target) : target_(target) {}

  bool put(std::span<const Block> blocks, const std::byte* packed) const;
  bool get(std::span<const Block> blocks, std::byte* packed) const;
  bool put(Block block, const std::byte* packed) const;
  bool get(Block block, std::byte* packed) const;

  /// `result` (may be null) receives the elements as they were before.
  bool accumulate(std::span<const Block> blocks, const std::byte* packed, std::byte* result,
                  Element element, unsigned operation, Combine combine) const;
  bool compare_and_swap(std::int64_t offset, const std::byte* compare, const std::byte* replace,
                        std::byte* result, std::uint32_t bytes) const;

  /// Where the memory is mapped here; null where it is reached through the kernel.
  std::byte* mapped() const {
    return target_.pid == 0 ? reinterpret_cast<std::byte*>(&target_) + target_.address : nullptr;
  }
  /// Asks the processor for the first bytes of a block, which is used soon.
  void prefetch(Block block) const {
    if (const std::byte* const base = mapped(); base && inside(block))
      __builtin_prefetch(base + block.offset);
  }
  /// Every access to it is a system call.
  bool through_kernel() const;
  bool inside(Block block) const {
    return block.offset >= 0 && static_cast<std::uint64_t>(block.offset) <= target_.size &&
           block.length <= target_.size - static_cast<std::uint64_t>(block.offset);
  }

 private:
  bool move(Block block, std::byte* local, bool write) const;

  Target& target_;
};

}  // namespace hob::ghost
