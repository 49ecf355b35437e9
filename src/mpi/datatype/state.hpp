// All mutable globals of this layer that others see are here.
#pragma once

#include <atomic>
#include <cstdint>

namespace hob::mpi {

/// How often layouts of datatypes were forgotten, since their handles may be given again. Global,
/// since handles are the whole process's.
inline std::atomic<std::uint64_t> layouts_forgotten{0};

}  // namespace hob::mpi
