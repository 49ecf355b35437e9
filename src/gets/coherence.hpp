// Until when cached bytes are true: acquires, own writes, the window's mode (docs/consistency.md).
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/published.hpp"
#include "gets/invalidation_epochs.hpp"
#include "gets/mode.hpp"
#include "gets/target_state.hpp"

namespace hob::gets {

/// Not thread safe, but for mode().
class Coherence {
 public:
  /// `acquires`: how many the process has made so far.
  Coherence(Mode mode, std::uint64_t acquires) : mode_(mode), applied_(acquires) {}

  Mode mode() const { return mode_.get(); }
  const std::string& mode_reason() const { return mode_reason_; }
  void set_mode(Mode mode, std::string reason) {
    mode_.set(mode);
    mode_reason_ = std::move(reason);
  }

  /// The process has made so many `acquires`. True, once for each time that their number grew, if
  /// all bytes fetched before are to be dropped.
  bool apply_acquires(std::uint64_t acquires) {
    if (outlives_acquires(mode()) || acquires == applied_) [[likely]]
      return false;
    applied_ = acquires;
    return true;
  }

  /// Whether everything here is true after so many `acquires`: apply_acquires() would do nothing.
  bool is_current(std::uint64_t acquires) const {
    return acquires == applied_ || outlives_acquires(mode());
  }

  /// Whether nothing that was fetched is still to be dropped for an acquire up to number `count`.
  bool applied(std::uint64_t count) const { return applied_ == count; }
  /// Marks acquire number count + 1 as harmless, if all up to `count` were applied: cached entries
  /// stay valid.
  void pass_over(std::uint64_t count) {
    if (applied_ == count) applied_ = count + 1;
  }

  /// A write or atomic is given to the library for this target.
  void note_write(TargetState& target) {
    target.written = ++writes_;
    epochs.advance(target.invalidated);
  }
  /// Writes that were not seen may be under way.
  void assume_write(TargetState& target) { target.written = target.assumed = ++writes_; }

  /// The number of the last write given to the library.
  std::uint64_t last_write() const { return writes_; }

  InvalidationEpochs epochs;

 private:
  Published<Mode> mode_;
  std::string mode_reason_;
  std::uint64_t applied_;     ///< acquires up to which the cache is true
  std::uint64_t writes_ = 0;  ///< numbers writes and atomics in the order of issue
};

}  // namespace hob::gets
