#include "match/memory.hpp"

#include <cstdlib>
#include <new>

namespace hob::match {

void* Memory::allocate(std::size_t bytes, std::size_t alignment) {
  void* block = nullptr;
  if (posix_memalign(&block, alignment, bytes) != 0) throw std::bad_alloc();
  bytes_ += bytes;
  if (observer_ != nullptr) observer_->added(block, bytes);
  return block;
}

void Memory::release(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  bytes_ -= bytes;
  if (observer_ != nullptr) {
    observer_->removed(block, bytes, std::free);
  } else {
    std::free(block);
  }
}

}  // namespace hob::match
