// Hob's own allocation functions. They are not seen outside the library (libhob.map).
#include <cstddef>
#include <cstdlib>

#include "mpi/pmpi/memory.hpp"

void* operator new(std::size_t bytes) {
  if (void* memory = std::malloc(bytes != 0 ? bytes : 1)) return memory;
  throw hob::mpi::OutOfMemory();
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto grain = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(grain, (bytes + grain - 1) / grain * grain)) return memory;
  throw hob::mpi::OutOfMemory();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
