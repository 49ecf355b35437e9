// What Hob calls of UCX, whose headers need not be there. The values are part of UCX's binary
// interface: ucs/type/status.h, the same in all versions from 1.0 to 1.20.
#pragma once

#include <cstdint>

#if __has_include(<ucs/type/status.h>)
#include <ucs/type/status.h>
#endif

namespace hob::mpi::ucx {

using Worker = void*;

/// Null, a request, or an error that was cast (ucs_status_ptr_t).
using Request = void*;

/// ucs_status_t, an enumeration of one byte: what a register holds beyond it is undefined.
enum class Status : std::int8_t { ok = 0, in_progress = 1, last_error = -100 };

/// UCS_PTR_IS_ERR.
inline bool is_error(Request request) {
  const auto lowest = static_cast<std::intptr_t>(Status::last_error);
  return reinterpret_cast<std::uintptr_t>(request) >= static_cast<std::uintptr_t>(lowest);
}

#if __has_include(<ucs/type/status.h>)
static_assert(sizeof(Status) == sizeof(ucs_status_t));
static_assert(static_cast<int>(Status::ok) == UCS_OK);
static_assert(static_cast<int>(Status::in_progress) == UCS_INPROGRESS);
static_assert(static_cast<int>(Status::last_error) == UCS_ERR_LAST);
#endif

}  // namespace hob::mpi::ucx
