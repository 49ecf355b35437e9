// The heater. Global: there is one of a process, which every call that communicates notifies. All
// mutable globals of this layer that others see are here.
#pragma once

#include <atomic>
#include <cstddef>

#include "heat/heater.hpp"

namespace hob::mpi::heating {

struct Heating {
  /// Null: there is none. Made by start(), never destroyed: queues and caches that live on at exit
  /// give their memory back to it.
  heat::Heater* heater = nullptr;

  /// Bytes that it reads, and how many it may.
  std::atomic<std::size_t> bytes{0};
  std::size_t most_bytes = 0;
};
/// Of this process.
inline constinit Heating own;

}  // namespace hob::mpi::heating
