// What the members of a window agree on when it is made.
#pragma once

#include <cstdint>

namespace hob::mpi {

/// What each process of a window says of it when it is made, and what all of them know afterwards.
struct WindowAnswers {
  std::uint64_t bytes = 0;       ///< of this process's memory that the window shows; stays its own
  std::uint64_t readable = 0;    ///< of it, as ExposedSizes has it; stays its own
  bool aliased = false;          ///< another window may show the same: of one process, then of all
  bool share = false;            ///< ranks of a node share what they fetch: if all say so
  bool validate = false;         ///< copies may outlive collective calls: if all say so
  bool validate_always = false;  ///< likewise, in every such call
  bool threads = false;          ///< a process has several threads that call MPI; then of all
  std::uint64_t number = 0;      ///< a proposal for the window's number; then the largest of them
  bool rejects = false;          ///< this process rejects the window; stays its own
  int rejecting_rank = -1;       ///< the lowest that does, or -1
};

}  // namespace hob::mpi
