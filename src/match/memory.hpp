#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "match/engine.hpp"

namespace hob::match {

/// Where the queues get their memory: blocks aligned to cache lines, of which the observer (if
/// any) is notified. Not thread safe.
class Memory {
 public:
  explicit Memory(MemoryObserver* observer) : observer_(observer) {}

  /// A block of `bytes`, aligned to `alignment` (a power of two, 64 or more). Contents are
  /// undefined. Throws std::bad_alloc.
  void* allocate(std::size_t bytes, std::size_t alignment = 64);

  /// Gives back what allocate() returned. Null is allowed.
  void release(void* block, std::size_t bytes) noexcept;

  /// Bytes now allocated.
  std::size_t bytes() const { return bytes_; }

 private:
  MemoryObserver* observer_;
  std::size_t bytes_ = 0;
};

/// A growing array of plain values in Memory: no constructors run, values move by memcpy.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Array(Memory& memory) : memory_(&memory) {}
  ~Array() { memory_->release(data_, capacity_ * sizeof(T)); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  Array(Array&& other) noexcept
      : memory_(other.memory_),
        data_(std::exchange(other.data_, nullptr)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Array& operator=(Array&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }

  // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): i < capacity(), so there is data
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* data() { return data_; }
  std::size_t capacity() const { return capacity_; }

  /// Changes the capacity and keeps the first `keep` values. Throws std::bad_alloc, changing
  /// nothing.
  void resize(std::size_t capacity, std::size_t keep) {
    T* fresh = capacity != 0 ? static_cast<T*>(memory_->allocate(capacity * sizeof(T))) : nullptr;
    if (fresh && data_) std::memcpy(static_cast<void*>(fresh), data_, keep * sizeof(T));
    memory_->release(data_, capacity_ * sizeof(T));
    data_ = fresh;
    capacity_ = capacity;
  }

 private:
  Memory* memory_;
  T* data_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace hob::match
