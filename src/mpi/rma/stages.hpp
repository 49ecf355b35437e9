// What the operations of a window pass on their way to a target.
#pragma once

#include <memory>
#include <utility>

#include "mpi/rma/backend/backend.hpp"
#include "mpi/rma/backend/deferred_locks.hpp"
#include "mpi/rma/batch/batching.hpp"

namespace hob::mpi {

class GhostBackend;

/// The stages of a window: locks that are held back, batches, and the library or ghosts, which
/// carry the operations. Made with the window; a stage knows of the next one that it is a backend.
class Stages {
 public:
  /// `ghosts`: the carrier, if it is one that ghosts serve.
  explicit Stages(std::unique_ptr<Backend> carrier, const GhostBackend* ghosts = nullptr)
      : carrier_(std::move(carrier)), ghosts_(ghosts), first_(carrier_.get()) {}

  /// These put a stage before all others, while the window is made.
  void add(std::unique_ptr<Batching> stage) {
    first_ = stage.get();
    batches_ = std::move(stage);
  }
  void add(std::unique_ptr<DeferredLocks> stage) {
    first_ = stage.get();
    locks_ = std::move(stage);
  }

  /// Where an operation begins its way, and where it leaves Hob.
  Backend& first() const { return *first_; }
  Backend& carrier() const { return *carrier_; }

  /// Null: the window has no such stage.
  DeferredLocks* locks() const { return locks_.get(); }
  Batching* batches() const { return batches_.get(); }
  const GhostBackend* ghosts() const { return ghosts_; }

 private:
  // Each is freed before what it hands operations to.
  std::unique_ptr<Backend> carrier_;
  const GhostBackend* ghosts_;
  std::unique_ptr<Batching> batches_;
  std::unique_ptr<DeferredLocks> locks_;
  Backend* first_;
};

}  // namespace hob::mpi
