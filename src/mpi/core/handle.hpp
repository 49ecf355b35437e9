// MPI handles, which are integers or pointers, as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hob::mpi {

/// The bits of a handle. Never 0 for a window or a request that exists.
template <class MpiHandle>
std::uint64_t handle_bits(MpiHandle handle) {
  static_assert(sizeof handle <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &handle, sizeof handle);
  return bits;
}

/// The reverse.
template <class MpiHandle>
MpiHandle handle_of(std::uint64_t bits) {
  MpiHandle handle;
  std::memcpy(&handle, &bits, sizeof handle);
  return handle;
}

/// Maps a handle's bits to [0, 2^width), 0 < width < 64. Handles differ in few bits, in their
/// lowest ones (MPICH's numbers) or above those of an alignment (pointers): a multiplication brings
/// both to the top (Fibonacci hashing).
constexpr std::size_t handle_hash(std::uint64_t bits, int width) {
  return static_cast<std::size_t>((bits * 0x9e3779b97f4a7c15u) >> (64 - width));
}

}  // namespace hob::mpi
