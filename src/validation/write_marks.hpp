// What a process knows of its own writes to one target. Pure.
#pragma once

#include <cstdint>

namespace hob::validation {

/// Writes and atomics are numbered in the order of issue, from 1. Not thread safe.
struct WriteMarks {
  std::uint64_t written = 0;   ///< number of the last one given to the target
  std::uint64_t settled = 0;   ///< up to this number they are complete there
  std::uint64_t notified = 0;  ///< up to this number they were complete at the last report

  bool writing() const { return written > settled; }

  /// Before a report: whether the target's memory may have changed since the last time. What
  /// was under way then may have arrived since, so it is reported again.
  bool notify() {
    const bool changed = written > notified;
    if (!writing()) notified = written;
    return changed;
  }
};

}  // namespace hob::validation
