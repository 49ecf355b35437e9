// How the pure parts move bytes: MPI in the product, a simulated network in the tests.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hob::ghost {

/// A message under way. 0 is none.
using Handle = std::uint64_t;

/// Nonblocking point-to-point messages between processes. Messages of one (sender, receiver, tag)
/// arrive in order. Buffers must stay untouched until the message is done.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual Handle send(int peer, std::uint32_t tag, const void* data, std::size_t bytes) = 0;
  virtual Handle receive(int peer, std::uint32_t tag, void* data, std::size_t bytes) = 0;
  /// Whether it is complete; then the handle becomes 0. Done for 0.
  virtual bool done(Handle& handle) = 0;
  /// One turn of a loop that waits for something that others must do: send a message, or else (a
  /// lock in shared memory) something without a notification. `turn` counts from 0.
  virtual void relax(unsigned turn, bool for_message) = 0;
  /// Before such a loop (begin) and after it. Nanoseconds of a steady clock.
  virtual std::uint64_t waits(bool begin) = 0;
};

/// Tags, agreed upon by origins and ghosts.
inline constexpr std::uint32_t kRequestTag = 1;
inline constexpr std::uint32_t kTokenTag =
    2;  ///< between application ranks (rma/ghost/post_start.hpp)
inline constexpr std::uint32_t kFirstReplyTag = 16;   ///< + number of the message
inline constexpr std::uint32_t kMostMessages = 2000;  ///< under way from one origin
inline constexpr std::uint32_t kFirstDataTag = 2048;
inline constexpr std::uint32_t kLastDataTag = 32767;  ///< MPI promises at least this MPI_TAG_UB

}  // namespace hob::ghost
