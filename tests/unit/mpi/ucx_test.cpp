// The end of MPI over UCX, of which others in the process may make use, too. The fake MPI library
// is in this program, and the others in a library.
#include "mpi/progress/ucx.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "fake_ucx.hpp"
#include "mpi/progress/ucx_api.hpp"
#include "mpi/workarounds/ucx_closing.hpp"

namespace hob::mpi::ucx {
namespace {

TEST(Ucx, ServesOnlyOnceTheMpiLibraryHasAWorker) {
  fake::ucx::reset(0);
  void* const theirs = fake::ucx::other_users_worker();
  ucp_worker_progress(theirs);
  EXPECT_FALSE(serves());
  void* ours = nullptr;
  ucp_worker_create(nullptr, nullptr, &ours);
  EXPECT_TRUE(serves());
  ucp_worker_destroy(ours);
  library_has_worker(false);
}

TEST(Ucx, OnlyWorkersOfTheMpiLibraryAreDrivenAtFinalize) {
  fake::ucx::reset(50);
  void *ours = nullptr, *const theirs = fake::ucx::other_users_worker();
  ucp_worker_create(nullptr, nullptr, &ours);
  {
    const Finalizing end;
    EXPECT_EQ(ucp_disconnect_nb(nullptr), nullptr) << "it is closed when the call returns";
    EXPECT_FALSE(fake::ucx::still_closing());
    EXPECT_EQ(fake::ucx::requests_released(), 1);
    ucp_worker_destroy(ours);
  }
  library_has_worker(false);
  EXPECT_GE(fake::ucx::progressed(ours), 50);
  EXPECT_EQ(fake::ucx::progressed(theirs), 0);
}

TEST(Ucx, OthersCloseTheirConnectionsThemselvesAtFinalizeToo) {
  fake::ucx::reset(50);
  void *ours = nullptr, *const theirs = fake::ucx::other_users_worker();
  ucp_worker_create(nullptr, nullptr, &ours);
  {
    const Finalizing end;
    EXPECT_NE(fake::ucx::other_user_disconnects(), nullptr);
    EXPECT_EQ(fake::ucx::requests_released(), 0);
    fake::ucx::other_user_destroys(theirs);
    EXPECT_EQ(ucp_disconnect_nb(nullptr), nullptr);
    ucp_worker_destroy(ours);
  }
  library_has_worker(false);
  EXPECT_EQ(fake::ucx::progressed(theirs), 0);
}

TEST(Ucx, AnErrorIsAPointerThatNoRequestHas) {
  EXPECT_TRUE(is_error(reinterpret_cast<Request>(std::intptr_t{-1})));
  EXPECT_TRUE(is_error(reinterpret_cast<Request>(std::intptr_t{-100})));
  EXPECT_FALSE(is_error(reinterpret_cast<Request>(std::intptr_t{-101})));
  EXPECT_FALSE(is_error(nullptr));
}

}  // namespace
}  // namespace hob::mpi::ucx
