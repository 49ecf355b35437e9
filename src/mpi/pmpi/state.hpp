// What every wrapper looks at, of the whole process or of the calling thread. Global, since MPI
// calls have no argument that could carry it, and since the wrapper of a call that does not concern
// Hob is one load and one branch. All mutable globals of this layer are here.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// False: Hob passes every call on. Set once at MPI_Init, before the program can start threads.
inline bool active = false;

/// True with MPI_THREAD_MULTIPLE. Set once at MPI_Init.
inline bool many_threads = false;

/// How deep this thread is inside Hob. The MPI library calls its own PMPI functions, and Hob calls
/// it: neither may come back into the wrappers. A sum of what follows.
inline thread_local int depth __attribute__((tls_model("initial-exec"))) = 0;

/// Once: errors wait for the end of the call (core/unreported_errors.hpp).
inline constexpr int kUnreported = 1;
/// Work of Hob's own (wrapper.hpp, DepthGuard).
inline constexpr int kInside = 2;
/// A call of the program's (call_guard.hpp).
inline constexpr int kCall = 1 << 8;
/// A lock of Hob's under which the library is called: the program's own functions that the library
/// calls meanwhile cannot be served (program_guard.hpp).
inline constexpr int kExclusive = 1 << 16;

/// The call under way has raised an error that waits for its end: MPICH says MPI_SUCCESS once a
/// handler has returned, and what the call was to write is not there.
inline bool error_unreported() { return (depth & kUnreported) != 0; }

/// What else this thread is in.
struct CallingThread {
  /// A call that overlap watches (progress/overlap.hpp), and that has been announced.
  bool call_announced = false;

  /// A function of the program's whose calls go to the library alone (program_guard.hpp).
  bool unserved_callback = false;

  /// Who called the wrapper that registers a function of the program's (plan.py, registers): the
  /// address says whether a Fortran binding did. Until its hook has read it.
  const void* registrar = nullptr;
};
/// Of each thread of the program.
inline constinit thread_local CallingThread calling_thread
    __attribute__((tls_model("initial-exec")));

/// Kinds of objects with attributes. Bits.
enum FreedKind : unsigned { kCommunicators = 1, kWindows = 2, kDatatypes = 4 };

/// FreedKinds for which the program has registered functions that run when an object goes away.
inline std::atomic<unsigned> delete_callbacks{0};

/// Why most calls concern Hob. One word, which a wrapper reads at once (wrapper.hpp, at_rest):
/// with 0 in it, the short calls (plan.py) are the library's own.
struct alignas(std::uint64_t) Concerns {
  /// How many parts of Hob have something to do at synchronisation of windows and at writes:
  /// windows from which something was fetched through a cache, ghosts, receives that Hob holds, and
  /// programs whose threads may be inside MPI together. With none, tracking is off. Batches that
  /// wait are such a part.
  std::atomic<int> parts_tracking{0};
  /// Something is under way that the overlap thread may advance: it may enter the library, and
  /// every call of the program's says when it does. Written inside `presence`.
  std::atomic<bool> calls_announced{false};
  /// Hob serves a program whose threads may be inside MPI together, which is one of the parts
  /// above, and neither traces it nor shows it a smaller world: nothing else is to be asked.
  /// Whatever uses the count of acquires is a part of its own.
  std::atomic<bool> threads_alone{false};
};
inline constinit Concerns concerns;

/// How many parts of Hob have something under way that only Hob can advance
/// (progress/progress.hpp).
inline std::atomic<int> parts_under_way{0};
inline bool nothing_under_way() { return parts_under_way.load(std::memory_order_relaxed) == 0; }

}  // namespace hob::mpi
