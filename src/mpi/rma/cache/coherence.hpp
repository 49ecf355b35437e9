// Until when cached bytes are true: acquires, own writes, the window's mode (docs/consistency.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "mpi/pmpi/wrapper.hpp"
#include "mpi/rma/cache/doubts.hpp"
#include "mpi/rma/cache/mode.hpp"
#include "mpi/rma/cache/target_state.hpp"

namespace hob::mpi {

/// Not thread safe.
class Coherence {
 public:
  explicit Coherence(Mode mode) : mode_(mode), applied_(acquires.load(std::memory_order_relaxed)) {}

  Mode mode() const { return mode_; }
  const std::string& mode_reason() const { return mode_reason_; }
  void set_mode(Mode mode, std::string reason) {
    mode_ = mode;
    mode_reason_ = std::move(reason);
  }

  /// True, once for each time that it moved, if the process made an acquire that ends the life of
  /// what was fetched before.
  bool apply_acquires() {
    if (outlives_acquires(mode_)) return false;
    const std::uint64_t now = acquires.load(std::memory_order_relaxed);
    if (HOB_LIKELY(now == applied_)) return false;
    applied_ = now;
    return true;
  }

  /// Whether nothing that was fetched is waiting to be dropped for an acquire up to number `count`.
  bool applied(std::uint64_t count) const { return applied_ == count; }
  /// The acquire after number `count`, up to which all were applied, ends nobody's life.
  void pass_over(std::uint64_t count) {
    if (applied_ == count) applied_ = count + 1;
  }

  /// A write or atomic is given to the library for this target.
  void note_write(TargetState& target) {
    target.written = ++writes_;
    doubts.doubt(target.doubted);
  }
  /// Writes that were not seen may be under way.
  void assume_write(TargetState& target) { target.written = target.assumed = ++writes_; }

  /// The number of the last write given to the library.
  std::uint64_t last_write() const { return writes_; }

  Doubts doubts;

 private:
  Mode mode_;
  std::string mode_reason_;
  std::uint64_t applied_;     ///< value of `acquires` up to which the cache is true
  std::uint64_t writes_ = 0;  ///< numbers writes and atomics in the order of issue
};

}  // namespace hob::mpi
