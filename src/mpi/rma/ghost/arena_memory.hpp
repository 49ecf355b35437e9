// A window's part of the memory that the processes of a node share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hob::mpi {

/// Given back by the destructor, the whole pages of large parts to the system. Thread safe.
class ArenaMemory {
 public:
  ArenaMemory() = default;
  /// Empty if there is no room.
  explicit ArenaMemory(std::uint64_t bytes);
  ~ArenaMemory();
  ArenaMemory(ArenaMemory&& other) noexcept;
  ArenaMemory& operator=(ArenaMemory&& other) noexcept;
  ArenaMemory(const ArenaMemory&) = delete;
  ArenaMemory& operator=(const ArenaMemory&) = delete;

  bool empty() const { return bytes_ == 0; }
  std::uint64_t offset() const { return offset_; }
  std::uint64_t bytes() const { return bytes_; }
  std::byte* address() const;

 private:
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace hob::mpi
