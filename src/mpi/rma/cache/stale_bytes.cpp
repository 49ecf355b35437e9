#include "mpi/rma/cache/stale_bytes.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "mpi/core/context.hpp"
#include "mpi/core/end_job.hpp"

namespace hob::mpi {
namespace {

// glibc goes on with the handlers that are left, so what the program printed is still written.
void change_status(int status, void* process) {
  const auto mine = static_cast<pid_t>(reinterpret_cast<std::intptr_t>(process));
  if (status == 0 && mine == getpid()) std::exit(kStaleStatus);
}

}  // namespace

void report_stale_bytes(const std::string& sentence) {
  static std::atomic_flag reported;
  if (reported.test_and_set()) return;
  std::fprintf(stderr,
               "hob: verify FAILED: %s. Results of this run may be wrong; further differences of "
               "this rank are only counted\n",
               sentence.c_str());
  std::fflush(stderr);
  const std::string& action = context().settings.verify_action;
  if (action == "abort") end_job(MPI_COMM_WORLD, kStaleStatus);
  if (action == "status")
    on_exit(change_status, reinterpret_cast<void*>(static_cast<std::intptr_t>(getpid())));
}

}  // namespace hob::mpi
