#include "mpi/core/unreported_errors.hpp"

#include <cstddef>
#include <utility>

#include "mpi/core/program_guard.hpp"
#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi {
namespace {

/// Of one call of the program's. Most raise one; of very many, these say enough.
struct UnreportedErrors {
  std::array<UnreportedError, 4> errors;
  std::size_t number;
};

/// Of this thread. Nothing to destroy: handlers run while a thread ends, too.
constinit thread_local UnreportedErrors unreported{};

/// The last thing that a call does.
void report_all() {
  const UnreportedErrors all = std::exchange(unreported, {});
  for (std::size_t i = 0; i < all.number; ++i) all.errors[i].notify(all.errors[i]);
}

}  // namespace

bool report_later(const UnreportedError& error) {
  if (depth < kCall && !calling_thread.call_announced) return false;
  depth |= kUnreported;
  if (unreported.number < unreported.errors.size()) unreported.errors[unreported.number++] = error;
  return true;
}

void report_errors() {
  if (depth != kUnreported || calling_thread.call_announced) return;
  depth = 0;
  report_all();
}

void report_errors_now() {
  if ((depth & kUnreported) == 0) return;
  depth &= ~kUnreported;
  const ProgramGuard guard;
  report_all();
}

}  // namespace hob::mpi
