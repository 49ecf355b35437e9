// What happens when there is no memory.
#pragma once

#include <new>

namespace hob::mpi {

/// Thrown by every allocation of Hob's. A type of its own, since the program's exceptions pass
/// through Hob, too (out of its error handlers), and std::bad_alloc may be among them.
class OutOfMemory final : public std::bad_alloc {
 public:
  const char* what() const noexcept override { return "hob: out of memory"; }
};

/// A call could not be carried out, and part of it may have been: ends the process, with a message
/// that names the call.
[[noreturn]] void out_of_memory(const char* call) noexcept;

}  // namespace hob::mpi
