// Error handlers of the program's, which may throw or leave by longjmp: where they are called, and
// what they find.
#include "mpi/core/unreported_errors.hpp"

#include <gtest/gtest.h>

#include <array>
#include <csetjmp>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "fake_errors.hpp"
#include "fake_mpi.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/rma/window.hpp"

namespace hob::mpi {
namespace {

constexpr int kWords = 512;
constexpr int kWrong = 77;

struct Heard {
  int times = 0;
  int depth = -1;
  int code = MPI_SUCCESS;
  MPI_Win win = MPI_WIN_NULL;
  bool library_was_left = false;
};
Heard heard;
bool inside_library = false;
std::jmp_buf outside;

void note(MPI_Win* win, int* code, ...) {
  heard = {heard.times + 1, depth, *code, *win, !inside_library};
}
void jump(MPI_Win* win, int* code, ...) {
  note(win, code);
  std::longjmp(outside, 1);
}
void throws(MPI_Win* win, int* code, ...) {
  note(win, code);
  throw std::runtime_error("an error");
}

/// Tracking is on, and Hob batches what goes to the window.
class ErrorHandlers : public testing::Test {
 protected:
  void SetUp() override {
    auto info = static_cast<MPI_Info>(0x9c000001);
    MPI_Info_set(info, "hob_batch", "16");
    MPI_Win_allocate(kWords * sizeof(std::int64_t), sizeof(std::int64_t), info, MPI_COMM_WORLD,
                     &base_, &win_);
    MPI_Info_free(&info);
    std::int64_t value = 0;
    MPI_Get(&value, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, win_);
    MPI_Win_flush(1, win_);
    MPI_Win_lock_all(0, win_);
    heard = {};
    fake::reset();
  }
  void TearDown() override {
    fake::reset();
    MPI_Win_unlock_all(win_);
    MPI_Win_free(&win_);
  }

  void handle_by(MPI_Win_errhandler_function* handler) {
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    MPI_Win_create_errhandler(handler, &made);
    fake::during("Put", [this] {
      if (!fails_) return;
      fails_ = false;
      inside_library = true;
      fake::raise(win_, kWrong);
      inside_library = false;
    });
  }
  /// Of more bytes than are batched, so that it reaches the library at once.
  int put_wrongly() {
    fails_ = true;
    return MPI_Put(large_.data(), kWords, MPI_INT64_T, 2, 0, kWords, MPI_INT64_T, win_);
  }
  void expect_that_puts_arrive(std::int64_t value) {
    for (int i = 0; i < 8; ++i) MPI_Put(&value, 1, MPI_INT64_T, 1, i, 1, MPI_INT64_T, win_);
    EXPECT_EQ(depth, 0);
    MPI_Win_flush(1, win_);
    std::int64_t there = 0;
    std::memcpy(&there, fake::memory(win_, 1).data() + 7 * sizeof there, sizeof there);
    EXPECT_EQ(there, value);
  }

  void* base_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
  bool fails_ = false;
  std::array<std::int64_t, kWords> large_{};
};

TEST_F(ErrorHandlers, HearOnceAtTheEndOfTheCall) {
  handle_by(note);
  put_wrongly();
  EXPECT_EQ(heard.times, 1);
  EXPECT_EQ(heard.depth, 0);
  EXPECT_EQ(heard.code, kWrong);
  EXPECT_EQ(heard.win, win_);
  EXPECT_TRUE(heard.library_was_left);
  EXPECT_EQ(depth, 0);
  expect_that_puts_arrive(5);
  EXPECT_EQ(heard.times, 1);
}

TEST_F(ErrorHandlers, MayLeaveByLongjmp) {
  handle_by(jump);
  if (setjmp(outside) == 0) {
    put_wrongly();
    ADD_FAILURE() << "the handler has returned";
  }
  EXPECT_EQ(heard.times, 1);
  expect_that_puts_arrive(6);
}

TEST_F(ErrorHandlers, MayThrow) {
  handle_by(throws);
  EXPECT_THROW(put_wrongly(), std::runtime_error);
  expect_that_puts_arrive(7);
}

// A batch that another call sends: its error is reported after that call's own work, too.
TEST_F(ErrorHandlers, OfABatchMayLeaveByLongjmp) {
  handle_by(jump);
  std::int64_t value = 3;
  for (int i = 0; i < 8; ++i) MPI_Put(&value, 1, MPI_INT64_T, 1, 2 * i, 1, MPI_INT64_T, win_);
  EXPECT_EQ(fake::calls("Put"), 0U);
  fails_ = true;
  if (setjmp(outside) == 0) {
    MPI_Win_flush(1, win_);
    ADD_FAILURE() << "the handler has returned";
  }
  EXPECT_EQ(heard.times, 1);
  expect_that_puts_arrive(8);
}

TEST_F(ErrorHandlers, OfAWindowThatIsFreedHearWhileThereIsOne) {
  handle_by(note);
  std::int64_t value = 3;
  for (int i = 0; i < 8; ++i) MPI_Put(&value, 1, MPI_INT64_T, 1, 2 * i, 1, MPI_INT64_T, win_);
  fails_ = true;
  bool was_there = false;
  fake::during("Win_free", [&] { was_there = heard.times == 1; });
  const MPI_Win freed = win_;
  MPI_Win_free(&win_);
  EXPECT_TRUE(was_there);
  EXPECT_EQ(heard.win, freed);
  EXPECT_EQ(depth, 0);
  SetUp();
}

// Most of these are the first of a call, and the others follow from it.
TEST_F(ErrorHandlers, HearFourErrorsOfOneCallAtMost) {
  handle_by(note);
  fake::during("Put", [this] {
    for (int i = 0; i < 9; ++i) fake::raise(win_, kWrong);
  });
  put_wrongly();
  EXPECT_EQ(heard.times, 4);
  EXPECT_EQ(depth, 0);
}

}  // namespace
}  // namespace hob::mpi
