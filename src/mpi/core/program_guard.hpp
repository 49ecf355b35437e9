// The program's own functions that the MPI library calls: error handlers, attribute callbacks,
// generalized requests.
#pragma once

namespace hob::mpi {

/// Error handlers are called elsewhere, where they can be (unreported_errors.hpp). Around any other
/// function of the program's that the library calls, and around those where they cannot, from
/// within a call that Hob made or passed on: what the program calls there is the program's, as if
/// no call of Hob's was above it. But a part of Hob that holds a lock (kExclusive) could not serve
/// it. Then the calls go to the library alone, and, whatever they did, nothing that is cached is
/// believed any more.
class ProgramGuard {
 public:
  ProgramGuard();
  ~ProgramGuard();
  ProgramGuard(const ProgramGuard&) = delete;
  ProgramGuard& operator=(const ProgramGuard&) = delete;

 private:
  int depth_;
  bool unserved_;
  bool announced_;
};

/// The same for functions that may leave by longjmp as well, which runs no destructors: the
/// process has learned before of what the call has completed.
class LeavingGuard : public ProgramGuard {
 public:
  LeavingGuard();
};

}  // namespace hob::mpi
