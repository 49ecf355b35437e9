#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "match/memory.hpp"

namespace hob::match {

/// Nodes of one size, handed out from aligned chunks that are kept until the end. What is freed
/// last is handed out first; fresh nodes come in order of address. Not thread safe.
class Pool {
 public:
  /// `bytes`: size of a node, a multiple of 64 and at most 4096.
  Pool(Memory& memory, std::size_t bytes) : memory_(&memory), bytes_(bytes) {}
  ~Pool() {
    for (void* chunk : chunks_) memory_->release(chunk, kChunkBytes);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// A node with undefined contents. Throws std::bad_alloc.
  void* allocate() {
    if (free_ != nullptr) {
      void* node = free_;
      free_ = *static_cast<void**>(node);
      return node;
    }
    if (chunks_.empty() || unused_ + bytes_ > kChunkBytes) {
      chunks_.reserve(chunks_.size() + 1);
      chunks_.push_back(memory_->allocate(kChunkBytes, kChunkBytes));
      unused_ = 0;
    }
    void* node = static_cast<std::byte*>(chunks_.back()) + unused_;
    unused_ += bytes_;
    return node;
  }

  void release(void* node) {
    *static_cast<void**>(node) = free_;
    free_ = node;
  }

  /// The node that an address lies in.
  void* node_of(const void* inside) const {
    auto address = reinterpret_cast<std::uintptr_t>(inside);
    std::uintptr_t chunk = address & ~std::uintptr_t{kChunkBytes - 1};
    return reinterpret_cast<void*>(address - (address - chunk) % bytes_);
  }

 private:
  static constexpr std::size_t kChunkBytes = std::size_t{64} << 10;

  Memory* memory_;
  std::size_t bytes_;
  void* free_ = nullptr;
  std::size_t unused_ = 0;
  std::vector<void*> chunks_;
};

}  // namespace hob::match
