// Hob's own allocation functions. They are not seen outside the library (libhob.map).
#include <cstddef>

#include "mpi/pmpi/memory.hpp"

void* operator new(std::size_t bytes) {
  if (void* memory = hob::mpi::allocate(bytes, alignof(std::max_align_t))) return memory;
  throw hob::mpi::OutOfMemory();
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (void* memory = hob::mpi::allocate(bytes, static_cast<std::size_t>(alignment))) return memory;
  throw hob::mpi::OutOfMemory();
}

void operator delete(void* memory) noexcept { hob::mpi::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { hob::mpi::release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { hob::mpi::release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  hob::mpi::release(memory);
}
