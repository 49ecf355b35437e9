// MPI begins once for all tests of the binary, with settings under which the cache always works,
// and ends after them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "fake_mpi.hpp"
#include "mpi/requests/request.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  setenv("HOB_REPORT", "silent", 1);
  setenv("HOB_CACHE_BYPASS", "off", 1);
  setenv("HOB_POLL_MS", "1000000", 1);
  setenv("HOB_POLL_HITS", "1000000", 1);
  setenv("HOB_CACHE_VALIDATE", "off", 1);  // the others say nothing but what this process does
  setenv("HOB_RECALL", "off", 1);          // what is recalled, and when, depends on measured times
  MPI_Init(nullptr, nullptr);
  // Progress between hits makes one request and keeps it; when it is first due depends on the time.
  hob::mpi::requests::drive_progress();
  const int result = RUN_ALL_TESTS();
  MPI_Finalize();
  return result;
}
