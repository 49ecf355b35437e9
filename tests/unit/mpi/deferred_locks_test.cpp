// Held-back locks among threads: nobody's operation goes before the lock that another thread sends.
#include "mpi/rma/backend/deferred_locks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "fake_mpi.hpp"
#include "mpi/pmpi/state.hpp"
#include "mpi/rma/backend/native_backend.hpp"

namespace hob::mpi {
namespace {

class DeferredLocksAmongThreads : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base_, &win_);
    library_ = std::make_unique<NativeBackend>(win_);
    locks_ = std::make_unique<DeferredLocks>(*library_);
    fake::reset();
    many_threads = true;
  }
  void TearDown() override {
    many_threads = false;
    fake::reset();
    MPI_Win_free(&win_);
  }

  /// Runs `call` in a second thread while the first one is in the library's MPI_Win_lock, and gives
  /// it every chance to return before that does. Whether it returned afterwards.
  template <class Call>
  bool waits(Call call) {
    std::atomic<bool> made{false}, there{false}, after{false};
    std::thread second;
    fake::during("Win_lock", [&] {
      if (second.joinable()) return;
      second = std::thread([&] {
        there = true;
        call();
        after = made.load();
      });
      while (!there) std::this_thread::yield();
      for (int i = 0; i < 2000; ++i) std::this_thread::yield();
      made = true;
    });
    EXPECT_TRUE(locks_->defer(1, MPI_MODE_NOCHECK, 0));
    EXPECT_EQ(locks_->synchronise(rma::Sync::flush_local(1)), MPI_SUCCESS);
    second.join();
    return after;
  }

  void* base_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
  std::unique_ptr<NativeBackend> library_;
  std::unique_ptr<DeferredLocks> locks_;
};

TEST_F(DeferredLocksAmongThreads, AnotherThreadsOperationWaitsForTheLockThatIsBeingSent) {
  EXPECT_TRUE(waits([&] {
    EXPECT_TRUE(locks_->any());
    EXPECT_FALSE(locks_->end(1, 0));  // what every operation waits for, without one
  }));
  EXPECT_FALSE(locks_->any());
  EXPECT_EQ(fake::calls("Win_lock"), 1U);
  EXPECT_EQ(locks_->skipped(), 0U);
}

TEST_F(DeferredLocksAmongThreads, AHandlerInTheLockMayUseTheWindow) {
  fake::during("Win_lock",
               [&] { EXPECT_EQ(locks_->synchronise(rma::Sync::flush_local(1)), MPI_SUCCESS); });
  EXPECT_TRUE(locks_->defer(1, MPI_MODE_NOCHECK, 0));
  EXPECT_EQ(locks_->synchronise(rma::Sync::flush_all()), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Win_lock"), 1U);
}

TEST_F(DeferredLocksAmongThreads, ALockThatFailedIsNotSentAgain) {
  fake::fail("Win_lock", MPI_ERR_RMA_SYNC);
  EXPECT_TRUE(locks_->defer(1, MPI_MODE_NOCHECK, 0));
  EXPECT_EQ(locks_->synchronise(rma::Sync::flush(1)), MPI_ERR_RMA_SYNC);
  EXPECT_FALSE(locks_->any());
  EXPECT_EQ(fake::calls("Win_lock"), 1U);
}

}  // namespace
}  // namespace hob::mpi
