// Fetching again what was read before: what one window needs for it (docs/consistency.md,
// "Recalled").
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "batch/operation_buffer.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/backend/backend.hpp"
#include "mpi/rma/cache/cacheable_get.hpp"
#include "mpi/rma/cache/get.hpp"
#include "mpi/rma/cache/terms.hpp"
#include "recall/recall.hpp"
#include "recall/room.hpp"

namespace hob::mpi {

/// Of one window. Not thread safe.
struct Recalling {
  Recalling(Backend& way, bool with_types, recall::Room& room, const PollGuard::Config& age)
      : memory({}, room), carrier(way), indexed(with_types), guard(age) {}

  /// A get that is missing, because of which places are recalled.
  struct Cause {
    const Get& get;
    const CacheableGet& wanted;
    bool requested;        ///< with a request; it was issued before
    bool carried = false;  ///< it was issued, with places of its target
  };

  /// `block_changes`: of the sizes of blocks that are fetched ahead, so far.
  void phase_ended(std::uint64_t block_changes) {
    memory.phase_ended(block_changes != changes_before);
    changes_before = block_changes;
  }

  std::uint64_t memory_bytes() const {
    return sizeof(*this) + memory.memory_bytes() + pool.memory_bytes() + buffer.memory_bytes();
  }

  recall::Recall memory;
  Backend& carrier;
  double issue = tuning::gets::kIssueNs * ticks_per_nanosecond();  ///< of a get, without its wait
  double in_burst = 0;  ///< of a get of several with one wait, its share of this; 0: not measured
  /// Of one with an indexed datatype, and its wait, without what its bytes take.
  double scattered =
      tuning::gets::kScatteredLatencies * tuning::gets::kFirstLatencyNs * ticks_per_nanosecond();
  std::uint64_t changes_before = 0;  ///< this phase
  bool indexed;                      ///< as few gets with indexed datatypes
  bool ended = false;                ///< for good
  bool reaches_all = false;          ///< an epoch is open for all targets
  bool requested = false;            ///< a get with a request came since one was waited for last
  PollGuard guard;                   ///< of places that are asked for the first time
  AheadPool pool;
  batch::OperationBuffer buffer;  ///< of the get that is being made
};

}  // namespace hob::mpi
