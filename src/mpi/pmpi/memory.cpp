#include "mpi/pmpi/memory.hpp"

#include <cstdio>
#include <cstdlib>

namespace hob::mpi {

void out_of_memory(const char* call) noexcept {
  std::fprintf(stderr, "hob: out of memory in %s\n", call);
  std::abort();
}

}  // namespace hob::mpi
