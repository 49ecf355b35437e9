// What holds for all windows of the process. All mutable globals of this layer that others see are
// here.
#pragma once

namespace hob::mpi {

/// Some window of this process shows memory that another one shows too. Set by expect_aliases().
/// Global, since a write through one window concerns all others.
inline bool windows_alias = false;

}  // namespace hob::mpi
