// Which calls concern requests that Hob does not know: the first thing that their wrappers ask.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/core/acquires.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/requests/state.hpp"

namespace hob::mpi::requests {

inline bool none_alive() { return HOB_LIKELY(state.alive.load(std::memory_order_relaxed) == 0); }

/// Waits and tests are the library's own, and show nothing.
inline bool all_native() { return none_alive() && idle(); }

/// With several threads, as long as none of them changes it, waits and tests of requests that Hob
/// does not know need nothing of Hob's: whatever the call says is noted once it has returned.
inline bool nothing_shown() { return ignores_acquires() && nothing_under_way(); }

/// Waits and tests of these are, too: there are none, or all are null.
inline bool none_given(int count, const MPI_Request* handles) {
  constexpr int kMost = 8;  // more are not looked through twice
  if (count < 0 || count > kMost || parts_under_way.load(std::memory_order_relaxed) != 0)
    return false;
  if (HOB_UNLIKELY(!handles)) return count == 0;
  for (int i = 0; i < count; ++i)
    if (handles[i] != MPI_REQUEST_NULL) return false;
  return true;
}

/// Nothing is learned from the completion of this request: it was complete when its call returned,
/// or is null.
inline bool is_prebuilt(MPI_Request handle) {
  return handle == MPI_REQUEST_NULL ||
         handle_bits(handle) == state.prebuilt.load(std::memory_order_relaxed);
}
inline bool all_prebuilt(int count, const MPI_Request* handles) {
  if (count < 0 || !handles) return false;
  for (int i = 0; i < count; ++i)
    if (!is_prebuilt(handles[i])) return false;
  return true;
}

inline std::atomic<std::uint8_t>& known_handle(MPI_Request handle) {
  return state.known_handles[handle_hash(handle_bits(handle), State::kHashBits)];
}

/// True: Hob knows nothing of this request. False means nothing.
inline bool unknown(MPI_Request handle) {
  return none_alive() || known_handle(handle).load(std::memory_order_relaxed) == 0;
}
/// The same of a handle that the program points to.
inline bool unknown_at(const MPI_Request* handle) {
  return none_alive() || !handle || unknown(*handle);
}
inline bool all_unknown(int count, const MPI_Request* handles) {
  if (none_alive()) return true;
  for (int i = 0; i < count; ++i)
    if (known_handle(handles[i]).load(std::memory_order_relaxed) != 0) return false;
  return true;
}

inline std::uint64_t start_bit(MPI_Request handle) {
  return std::uint64_t{1} << handle_hash(handle_bits(handle), 6);
}
/// The operation that MPI_Start of a handle asks, or null. Most others are known by a load.
Operation* find_started_through(MPI_Request handle);
inline Operation* started_through(MPI_Request handle) {
  if ((state.start_bits.load(std::memory_order_relaxed) & start_bit(handle)) == 0) return nullptr;
  return find_started_through(handle);
}
inline bool none_started_through() { return state.start_bits.load(std::memory_order_relaxed) == 0; }

}  // namespace hob::mpi::requests
