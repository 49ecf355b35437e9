// The count of acquires: moments at which this process may have learned of another one's write
// (docs/consistency.md).
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/core/state.hpp"
#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi {

/// Nothing depends on the count of acquires.
inline bool ignores_acquires() {
  return HOB_LIKELY(acquires.users.load(std::memory_order_relaxed) == 0);
}

/// Nothing to do for Hob while a call blocks, nor to learn from its end.
inline bool idle() {
  return ignores_acquires() && parts_under_way.load(std::memory_order_relaxed) == 0 &&
         !many_threads;
}

/// One acquire more. Returns how many there were before. `call` is a literal: its name as in the
/// standard.
inline std::uint64_t count_acquire(const char* call) { return acquires.add(call); }

/// The same, where anything depends on it.
inline void note_acquire(const char* call) {
  if (!ignores_acquires()) count_acquire(call);
}

/// What depends on the count, from now on until its end. In a program with several threads it is
/// one of the parts that track: such a program is not at rest (wrapper.hpp, threads_at_rest).
class UsesAcquires {
 public:
  UsesAcquires() {
    acquires.users.fetch_add(1, std::memory_order_relaxed);
    if (tracks_) begin_tracking();
  }
  ~UsesAcquires() {
    acquires.users.fetch_sub(1, std::memory_order_relaxed);
    if (tracks_) end_tracking();
  }
  UsesAcquires(const UsesAcquires&) = delete;
  UsesAcquires& operator=(const UsesAcquires&) = delete;

 private:
  const bool tracks_ = many_threads;
};

/// Around a call from which the process may learn: an exception that an error handler of the
/// program's throws through it may leave behind operations that are complete.
struct AcquireIfUnwound {
  AcquireIfUnwound() = default;
  ~AcquireIfUnwound() {
    if (!returned) note_acquire("an exception");
  }
  AcquireIfUnwound(const AcquireIfUnwound&) = delete;
  AcquireIfUnwound& operator=(const AcquireIfUnwound&) = delete;

  bool returned = false;
};

}  // namespace hob::mpi
