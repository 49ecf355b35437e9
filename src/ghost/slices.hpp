// Offsets of free memory in one process's slice of the node's arena.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace hob::ghost {

/// Best fit with merging of neighbours. Each process has a slice of its own, so that allocation
/// asks no other process. Not thread safe.
class Slices {
 public:
  /// Manages [begin, end).
  Slices(std::uint64_t begin, std::uint64_t end);

  /// Offset of `bytes` bytes, a multiple of `alignment` (a power of two); nothing if there is no
  /// such room.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment);
  /// Gives back what allocate returned for so many bytes.
  void free(std::uint64_t offset, std::uint64_t bytes);

 private:
  void insert(std::uint64_t begin, std::uint64_t end);
  void erase(std::map<std::uint64_t, std::uint64_t>::iterator it);

  std::map<std::uint64_t, std::uint64_t> by_offset_;     // begin -> end
  std::multimap<std::uint64_t, std::uint64_t> by_size_;  // size -> begin
};

}  // namespace hob::ghost
