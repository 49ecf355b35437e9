#include "mpi/core/errors_heard.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "mpi/core/program_guard.hpp"
#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi {
namespace {

/// Of one call of the program's. Most raise one; of very many, these say enough.
struct UnheardErrors {
  std::array<UnheardError, 4> errors;
  std::size_t number;
};

/// Of this thread. Nothing to destroy: handlers run while a thread ends, too.
constinit thread_local UnheardErrors unheard{};

/// The last thing that a call does.
void hear_all() {
  const UnheardErrors all = std::exchange(unheard, {});
  for (std::size_t i = 0; i < all.number; ++i) all.errors[i].tell(all.errors[i]);
}

}  // namespace

bool hear_later(const UnheardError& error) {
  if (depth < kCall && !call_announced) return false;
  depth |= kUnheard;
  if (unheard.number < unheard.errors.size()) unheard.errors[unheard.number++] = error;
  return true;
}

void hear_errors() {
  if (depth != kUnheard || call_announced) return;
  depth = 0;
  hear_all();
}

void hear_errors_now() {
  if ((depth & kUnheard) == 0) return;
  depth &= ~kUnheard;
  const ProgramGuard guard;
  hear_all();
}

}  // namespace hob::mpi
