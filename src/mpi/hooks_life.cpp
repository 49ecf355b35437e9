// Start and end of MPI.
#include <atomic>
#include <cstdlib>

#include "mpi/hooks.hpp"
#include "mpi/real.hpp"
#include "mpi/runtime.hpp"
#include "mpi/spin.hpp"
#include "mpi/wrapper.hpp"

namespace hob::mpi {
namespace {

/// Sessions open, and one more while MPI_Init is in effect.
std::atomic<int> users{0};

int thread_level() {
  int level = MPI_THREAD_SINGLE;
  real::Query_thread(&level);
  return level;
}

/// Before the first of them, so that errors in the settings show before the job starts.
void first_of_all() {
  static const bool once = (read_settings(), check_family(), true);
  (void)once;
}

}  // namespace

int on_Init(int* argc, char*** argv) {
  first_of_all();
  const int result = real::Init(argc, argv);
  if (result == MPI_SUCCESS && users++ == 0) start(thread_level(), true);
  return result;
}

int on_Init_thread(int* argc, char*** argv, int required, int* provided) {
  first_of_all();
  const int result = real::Init_thread(argc, argv, required, provided);
  if (result == MPI_SUCCESS && users++ == 0) start(*provided, true);
  return result;
}

int on_Finalize() {
  if (--users == 0) finish();
  return real::Finalize();
}

int on_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  first_of_all();
  const int result = real::Session_init(info, errhandler, session);
  // A session says nothing about its thread level before it is used: assume the most.
  if (result == MPI_SUCCESS && users++ == 0) start(MPI_THREAD_MULTIPLE, false);
  return result;
}

int on_Session_finalize(MPI_Session* session) {
  if (--users == 0) finish();
  return real::Session_finalize(session);
}

}  // namespace hob::mpi
