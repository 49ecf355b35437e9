// A window's part of the memory that the processes of a node share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hob::mpi {

/// Given back by the destructor, the whole pages of large parts to the system. Thread safe. Large
/// parts are whole pages, of which no other part has any: they go back to the system whole, and the
/// page tables show whether they were stored to.
class ArenaMemory {
 public:
  ArenaMemory() = default;
  /// Empty if there is no room. `whole_pages`: also where it is small.
  explicit ArenaMemory(std::uint64_t bytes, bool whole_pages = false);
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
