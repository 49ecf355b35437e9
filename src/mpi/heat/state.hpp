// The heater. Global: there is one of a process, which every call that communicates notifies. All
// mutable globals of this layer that others see are here.
#pragma once

#include "heat/heater.hpp"

namespace hob::mpi::heating {

/// The heater of this process, or null. Made by start(), never destroyed: queues and caches that
/// live on at exit give their memory back to it.
inline heat::Heater* heater = nullptr;

}  // namespace hob::mpi::heating
