// Windows on which a program has issued nothing since it flushed them.
#pragma once

#include <cstdint>

#include "base/published.hpp"

namespace hob::mpi {

/// Whether flushes of a window are the library's alone: one of all targets has completed all that
/// was issued, nothing was since, and no copy waits to be served. Programs with many windows flush
/// each of them at every fence (ARMCI-MPI), where what Hob knows of most of them is not in the
/// processor's caches. For programs with one thread: with several, completed() and pass() are not
/// called, and issued() only reads.
class FlushedWindow {
 public:
  /// An operation, or a lock, which may be held back.
  void issued() {
    if (flushed_.get()) flushed_.set(false);
  }
  /// A flush of all targets has completed them.
  void completed() { flushed_.set(true); }
  /// A flush of the program. Whether it is the library's alone.
  bool pass() {
    if (!flushed_.get()) return false;
    ++passed_;
    return true;
  }
  std::uint64_t passed() const { return passed_; }

 private:
  Published<bool> flushed_{false};
  std::uint64_t passed_ = 0;
};

}  // namespace hob::mpi
