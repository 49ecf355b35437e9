// What happens when there is no memory.
#pragma once

#include <cstddef>
#include <new>

namespace hob::mpi {

/// Thrown by every allocation of Hob's. A type of its own, since the program's exceptions pass
/// through Hob, too (out of its error handlers), and std::bad_alloc may be among them.
class OutOfMemory final : public std::bad_alloc {
 public:
  const char* what() const noexcept override { return "hob: out of memory"; }
};

/// All memory of Hob's that is not mapped comes from here. Where the system refuses, small things
/// come from a reserve, so that a call which is half done can be ended, and what waits can be let
/// go; what is large, or comes when the reserve is used up, fails. Null then. Thread safe.
void* allocate(std::size_t bytes, std::size_t alignment) noexcept;
/// The same after malloc() failed: of the reserve alone.
void* allocate_from_reserve(std::size_t bytes, std::size_t alignment) noexcept;
void release(void* memory) noexcept;
/// Only the reserve's: false for any other memory.
bool release_to_reserve(void* memory) noexcept;

/// A call could not be carried out, and part of it may have been: ends the process, with a message
/// that names the call.
[[noreturn]] void out_of_memory(const char* call) noexcept;

}  // namespace hob::mpi
