// Epochs under a lock of the process's own rank that promises MPI_MODE_NOCHECK
// (docs/consistency.md, "Locks that are not sent").
#pragma once

#include "mpi/core/state.hpp"

namespace hob::mpi {

/// Such a lock orders loads of the process's own memory, which may show it others' writes,
/// unless it reads that memory by gets. So until the first of these, every look-up in any cache is
/// an acquire, and without one the end of the epoch is. Not thread safe.
class OwnEpoch {
 public:
  OwnEpoch() = default;
  OwnEpoch(const OwnEpoch&) = delete;
  OwnEpoch& operator=(const OwnEpoch&) = delete;
  ~OwnEpoch() { end(); }

  void begin() {
    if (may_load_) return;
    may_load_ = used_ = true;
    acquires.own_epochs_of_loads.fetch_add(1, std::memory_order_relaxed);
  }
  /// A get from the own rank, or the end of the epoch. Returns whether it may have been for loads
  /// until now.
  bool end() {
    if (!may_load_) return false;
    may_load_ = false;
    acquires.own_epochs_of_loads.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  /// Whether there ever was one.
  bool used() const { return used_; }

 private:
  bool may_load_ = false;
  bool used_ = false;
};

}  // namespace hob::mpi
