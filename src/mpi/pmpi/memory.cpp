#include "mpi/pmpi/memory.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/reserve.hpp"

namespace hob::mpi {
namespace {

/// A thousand of what an operation under way takes, twice.
constinit Reserve<std::size_t{1} << 20> reserve;

}  // namespace

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  void* memory = nullptr;
  if (alignment <= alignof(std::max_align_t))
    memory = std::malloc(bytes != 0 ? bytes : 1);
  else
    memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  return memory != nullptr ? memory : allocate_from_reserve(bytes, alignment);
}

void* allocate_from_reserve(std::size_t bytes, std::size_t alignment) noexcept {
  return reserve.take(bytes, alignment);
}

void release(void* memory) noexcept {
  if (!release_to_reserve(memory)) std::free(memory);
}

bool release_to_reserve(void* memory) noexcept { return reserve.give_back(memory); }

void out_of_memory(const char* call) noexcept {
  std::fprintf(stderr, "hob: out of memory in %s\n", call);
  std::abort();
}

}  // namespace hob::mpi
