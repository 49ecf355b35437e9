// What a process with several threads knows of its writes to its own rank. Pure.
#pragma once

#include <atomic>
#include <cstdint>

#include "validation/write_marks.hpp"

namespace hob::validation {

/// As WriteMarks, for writes that threads issue without a lock: they are numbered by the flushes
/// that had begun before them, so that a write between two flushes costs two loads. Thread safe,
/// but for notify().
class OwnMarks {
 public:
  /// A write is about to be issued, or has been: both are noted, since a flush that does not
  /// complete it may begin in between.
  void note() {
    const std::uint64_t now = epoch_.load(std::memory_order_acquire);
    std::uint64_t seen = written_.load(std::memory_order_relaxed);
    while (seen < now && !written_.compare_exchange_weak(seen, now)) {
    }
  }

  /// A flush begins; what it returns is for settle(), after it.
  std::uint64_t begin_flush() { return epoch_.fetch_add(1); }
  /// The writes issued before that flush began are complete.
  void settle(std::uint64_t flush) {
    std::uint64_t before = settled_.load(std::memory_order_relaxed);
    while (before < flush && !settled_.compare_exchange_weak(before, flush)) {
    }
  }

  bool writing() const { return written_.load() > settled_.load(); }

  /// As WriteMarks::notify(). By one thread at a time.
  bool notify() {
    reported_.settled = settled_.load();  // first: a write noted meanwhile counts as under way
    reported_.written = written_.load();
    return reported_.notify();
  }

 private:
  std::atomic<std::uint64_t> epoch_{1};  ///< flushes that have begun, and 1
  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> settled_{0};
  WriteMarks reported_;  ///< the marks at the last report
};

}  // namespace hob::validation
