// The heater in a program: whether there is one, what it serves. docs/heating.md.
#pragma once

#include "heat/heater.hpp"
#include "match/engine.hpp"
#include "mpi/heat/state.hpp"

namespace hob::mpi::heating {

/// Before MPI starts.
void register_report();

/// After MPI has started and before queues and caches are made: reads the settings, probes if they
/// say so, and starts the heater. Collective over the program's world if the settings ask for it.
void start();

/// After the reports are written: ends the thread.
void finish();

/// For the memory of the matching queues; null without a heater.
match::MemoryObserver* observer();

/// The program communicates.
inline void note_communication() {
  if (own.heater != nullptr) own.heater->activity();
}

void pause();
void resume();

}  // namespace hob::mpi::heating
