// What holds for all windows of the process. All mutable globals of this layer that others see are
// here.
#pragma once

#include <atomic>

namespace hob::mpi {

/// Some window of this process shows memory that another one shows too. Set by expect_aliases().
/// Global, since a write through one window concerns all others.
inline bool windows_alias = false;

/// Windows whose copies may outlive collective calls (validation.hpp). While there is none, these
/// calls are the library's own. Global, since such a call names no window.
inline std::atomic<int> validated_windows{0};

/// Not 0: buffers that the library fills are compared with memory of windows (incoming.hpp).
/// Global, since most of these calls name no window.
inline std::atomic<int> incoming_watched{0};

}  // namespace hob::mpi
