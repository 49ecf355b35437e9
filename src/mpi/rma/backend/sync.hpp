// Synchronisation calls on a window as values.
#pragma once

#include <cstdint>
#include <limits>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi::rma {

/// What a target is called where all are meant. No rank, and not MPI_PROC_NULL.
inline constexpr int kAllTargets = std::numeric_limits<int>::min();

/// What one call of MPI_Win_fence, MPI_Win_lock, ... asks for, as Op is for operations.
struct Sync {
  enum class Kind : std::uint8_t {
    fence,
    start,
    complete,
    post,
    wait,
    test,
    lock,
    unlock,
    flush,
    sync
  };

  Kind kind = Kind::fence;
  bool all = false;          ///< a lock, an unlock or a flush of all targets
  bool local = false;        ///< a flush after which the program's buffers are free
  int target = kAllTargets;  ///< of a lock, an unlock or a flush
  int assertion = 0;
  int lock_type = 0;
  MPI_Group group{};
  int* flag = nullptr;

  static Sync fence(int assertion) { return {.kind = Kind::fence, .assertion = assertion}; }
  static Sync start(MPI_Group group, int assertion) {
    return {.kind = Kind::start, .assertion = assertion, .group = group};
  }
  static Sync complete() { return {.kind = Kind::complete}; }
  static Sync post(MPI_Group group, int assertion) {
    return {.kind = Kind::post, .assertion = assertion, .group = group};
  }
  static Sync wait() { return {.kind = Kind::wait}; }
  static Sync test(int* flag) { return {.kind = Kind::test, .flag = flag}; }
  static Sync lock(int type, int target, int assertion) {
    return {.kind = Kind::lock, .target = target, .assertion = assertion, .lock_type = type};
  }
  static Sync lock_all(int assertion) {
    return {.kind = Kind::lock, .all = true, .assertion = assertion};
  }
  static Sync unlock(int target) { return {.kind = Kind::unlock, .target = target}; }
  static Sync unlock_all() { return {.kind = Kind::unlock, .all = true}; }
  static Sync flush(int target) { return {.kind = Kind::flush, .target = target}; }
  static Sync flush_all() { return {.kind = Kind::flush, .all = true}; }
  static Sync flush_local(int target) {
    return {.kind = Kind::flush, .local = true, .target = target};
  }
  static Sync flush_local_all() { return {.kind = Kind::flush, .all = true, .local = true}; }
  static Sync sync() { return {.kind = Kind::sync}; }

  /// The same call, or the one that completes at the targets, too.
  Sync with_local(bool is_local) const {
    Sync other = *this;
    other.local = is_local;
    return other;
  }

  /// The MPI call.
  const char* name() const {
    switch (kind) {
      case Kind::fence:
        return "MPI_Win_fence";
      case Kind::start:
        return "MPI_Win_start";
      case Kind::complete:
        return "MPI_Win_complete";
      case Kind::post:
        return "MPI_Win_post";
      case Kind::wait:
        return "MPI_Win_wait";
      case Kind::test:
        return "MPI_Win_test";
      case Kind::lock:
        return all ? "MPI_Win_lock_all" : "MPI_Win_lock";
      case Kind::unlock:
        return all ? "MPI_Win_unlock_all" : "MPI_Win_unlock";
      case Kind::flush:
        if (local) return all ? "MPI_Win_flush_local_all" : "MPI_Win_flush_local";
        return all ? "MPI_Win_flush_all" : "MPI_Win_flush";
      case Kind::sync:
        return "MPI_Win_sync";
    }
    return "";
  }
};

}  // namespace hob::mpi::rma
