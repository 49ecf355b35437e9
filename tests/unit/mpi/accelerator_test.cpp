// What it costs that a program may load an accelerator's runtime at any time.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "fake_mpi.hpp"

namespace {

int dlopen_calls = 0;

}  // namespace

/// In place of the C library's, to count.
extern "C" __attribute__((visibility("default"))) void* dlopen(const char* name, int flags) {
  static auto* const next = reinterpret_cast<decltype(&dlopen)>(dlsym(RTLD_NEXT, "dlopen"));
  ++dlopen_calls;
  return next(name, flags);
}

namespace hob::mpi {
namespace {

void make_window() {
  int* base = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
            MPI_SUCCESS);
  MPI_Win_free(&win);
}

// dlopen() of a name looks through all directories: half a millisecond for three runtimes.
TEST(Accelerators, NewWindowsDoNotSearchTheFileSystemForRuntimes) {
  make_window();
  const int before = dlopen_calls;
  for (int i = 0; i < 10; ++i) make_window();
  EXPECT_EQ(dlopen_calls, before);
  // The count counts: this is the test's own call.
  if (void* self = dlopen(nullptr, RTLD_LAZY)) dlclose(self);
  EXPECT_EQ(dlopen_calls, before + 1);
}

}  // namespace
}  // namespace hob::mpi
