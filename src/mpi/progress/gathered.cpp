#include "mpi/progress/gathered.hpp"

#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi::gathered {

void before_call(bool blocks) {
  if (pass_through() || !send) return;
  const DepthGuard guard;
  send(blocks);
}

}  // namespace hob::mpi::gathered
