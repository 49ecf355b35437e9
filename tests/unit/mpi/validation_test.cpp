// Collective calls in which the members of a window report to each other who was written to.
#include "mpi/rma/validation.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "fake_mpi.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/program_guard.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/rma/own_stores.hpp"
#include "mpi/rma/window.hpp"
#include "mpi/rma/window_validation.hpp"
#include "validation/changes.hpp"
#include "validation/store_tracker.hpp"

namespace hob::mpi {
namespace {

using validation::Changes;

class Validated : public testing::Test {
 protected:
  void SetUp() override {
    if (stores_tracking() == validation::Tracking::none)
      GTEST_SKIP() << "this kernel cannot track stores";
    make_window("on");
  }
  void TearDown() override {
    fake::reset();
    if (win_ != MPI_WIN_NULL) end_window();
    context().settings.cache_validate = "off";
  }
  void make_window(const char* validate) {
    context().settings.cache_validate = validate;
    forget_communicator(MPI_COMM_WORLD);  // what other tests made of it
    MPI_Win_allocate(kWords * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base_,
                     &win_);
    for (int rank = 1; rank < fake::kWorldSize; ++rank) {
      int* there = reinterpret_cast<int*>(fake::memory(win_, rank).data());
      std::iota(there, there + kWords, 1000 * rank);
    }
    MPI_Win_lock_all(0, win_);
    const Window* window = find_window(win_);
    ASSERT_NE(window->validation, nullptr);
    number_ = window->validation->number;
    MPI_Barrier(MPI_COMM_WORLD);
    fake::reset();
  }
  void end_window() {
    MPI_Win_unlock_all(win_);
    MPI_Win_free(&win_);
  }

  /// Gets given to the library for one word of a rank.
  std::uint64_t fetches(int rank, int place = 7) {
    const std::uint64_t before = fake::calls("Get");
    int value = -1;
    MPI_Get(&value, 1, MPI_INT, rank, place, 1, MPI_INT, win_);
    MPI_Win_flush(rank, win_);
    EXPECT_EQ(value, 1000 * rank + place);
    return fake::calls("Get") - before;
  }

  /// What this process tells in the call, and what `more` adds for the others.
  template <class Call>
  Changes notified(Call call, const Changes& more = {}) {
    Changes heard;
    fake::others_say([&](void* result) {
      auto* words = static_cast<std::uint64_t*>(result);
      Changes added = more;
      for (std::size_t i = 0; i < Changes::kWords; ++i) {
        heard.words()[i] = words[i];
        words[i] |= added.words()[i];
      }
    });
    call();
    fake::others_say({});
    return heard;
  }
  Changes barrier(const Changes& more = {}) {
    return notified([] { MPI_Barrier(MPI_COMM_WORLD); }, more);
  }

  static constexpr int kWords = 1 << 15;
  int* base_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
  std::uint64_t number_ = 0;
};

TEST_F(Validated, WhatNobodyWroteIsKept) {
  EXPECT_EQ(fetches(1), 1u);
  fake::reset();
  const Changes said = barrier();
  EXPECT_EQ(fake::calls("Barrier"), 0u);
  EXPECT_EQ(fake::calls("Allreduce"), 1u);
  for (int rank = 0; rank < fake::kWorldSize; ++rank)
    EXPECT_FALSE(said.may_have_changed(number_, rank)) << rank;
  EXPECT_EQ(fetches(1), 0u);
  EXPECT_EQ(find_window(win_)->cached->stats().kept, 1u);
  EXPECT_EQ(find_window(win_)->cached->stats().kept_hits, 1u);
}

// Shared memory that nobody has touched takes memory when it is read (exposed_sizes.hpp).
TEST_F(Validated, MemoryThatWasTouchedSinceIsReadAheadAsAWhole) {
  constexpr std::size_t kBytes = 256 * 1024;
  context().settings.readahead = "64K";
  void* const memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_create(memory, kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  const auto longest_get = [&](MPI_Aint displacement) {
    char value = 0;
    fake::take_longest_get();
    MPI_Get(&value, 1, MPI_CHAR, 1, displacement, 1, MPI_CHAR, win);
    MPI_Win_flush(1, win);
    return fake::take_longest_get();
  };
  EXPECT_EQ(longest_get(0), 4096u);
  EXPECT_TRUE(barrier().pages_only());
  std::memset(memory, 1, kBytes);
  Changes others;
  others.keep_to_pages();
  EXPECT_FALSE(barrier(others).pages_only());
  EXPECT_EQ(longest_get(64 * 1024), 4096u) << "the others' memory is not known yet";
  EXPECT_FALSE(barrier().pages_only());
  EXPECT_EQ(longest_get(128 * 1024), 65536u);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  ::munmap(memory, kBytes);
  context().settings.readahead = "auto";
}

TEST_F(Validated, WhatSomebodyWroteIsDroppedAndNothingElse) {
  fetches(1);
  fetches(2);
  Changes other;
  other.add(number_, 2);
  barrier(other);
  EXPECT_EQ(fetches(1), 0u);
  EXPECT_EQ(fetches(2), 1u);
  Changes all;
  all.add_all(number_);
  barrier(all);
  EXPECT_EQ(fetches(1), 1u);
  EXPECT_EQ(fetches(2), 1u);
}

TEST_F(Validated, OwnStoresAndWritesAreTold) {
  EXPECT_FALSE(barrier().may_have_changed(number_, 0));
  base_[kWords / 2] = 5;
  EXPECT_TRUE(barrier().may_have_changed(number_, 0));
  EXPECT_FALSE(barrier().may_have_changed(number_, 0));
  const int value = 1234;
  MPI_Put(&value, 1, MPI_INT, 3, 1, 1, MPI_INT, win_);
  EXPECT_TRUE(barrier().may_have_changed(number_, 3));
  EXPECT_TRUE(barrier().may_have_changed(number_, 3)) << "it is still under way";
  MPI_Win_flush(3, win_);
  const Changes said = barrier();
  EXPECT_TRUE(said.may_have_changed(number_, 3)) << "it arrived since";
  EXPECT_FALSE(said.may_have_changed(number_, 2));
  EXPECT_FALSE(barrier().may_have_changed(number_, 3));
}

TEST_F(Validated, AProgramsOwnPageFaultHandlerComesFirst) {
  EXPECT_FALSE(barrier().may_have_changed(number_, 0));
  const int file = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1));
  uffdio_api api{};
  api.api = UFFD_API;
  if (file < 0 || ::ioctl(file, UFFDIO_API, &api) != 0) GTEST_SKIP() << "not here";
  uffdio_register all{};
  all.range.start = (reinterpret_cast<std::uintptr_t>(base_) / 4096 + 1) * 4096;
  all.range.len = 4096;
  all.mode = UFFDIO_REGISTER_MODE_MISSING;
  EXPECT_EQ(::ioctl(file, UFFDIO_REGISTER, &all), 0);
  EXPECT_TRUE(barrier().may_have_changed(number_, 0));
  EXPECT_TRUE(barrier().may_have_changed(number_, 0)) << "and for good";
  ::close(file);
  EXPECT_TRUE(barrier().may_have_changed(number_, 0));
}

TEST_F(Validated, WhereDevicesMayStoreNothingIsWatched) {
  const int file = ::open("/proc/self/exe", O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (file < 0) GTEST_SKIP() << "no such file system";
  base_[0] = 5;
  EXPECT_TRUE(barrier().may_have_changed(number_, 0));
  EXPECT_TRUE(barrier().may_have_changed(number_, 0)) << "reads may go on";
  ::close(file);
  int calls = 0;
  while (barrier().may_have_changed(number_, 0)) ++calls;
  EXPECT_LE(calls, 4);
}

TEST(OwnStoresTest, AChildMayStoreToWhatTheLibraryShares) {
  if (stores_tracking() == validation::Tracking::none) GTEST_SKIP() << "not here";
  constexpr std::size_t kBytes = 1 << 16;
  auto* const shared = static_cast<char*>(
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::memset(shared, 1, kBytes);
  StoreWatch watch;
  OwnStores stores(shared, kBytes, stores_tracking(), validation::Owner::library);
  const auto changed = [&] {
    watch.begin_call();
    const bool result = stores.may_have_changed(watch, true);
    watch.end_call();
    return result;
  };
  EXPECT_TRUE(changed()) << "nobody has looked";
  EXPECT_FALSE(changed());
  const pid_t child = ::fork();
  if (child == 0) {
    shared[5] = 2;
    ::_exit(0);
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  EXPECT_TRUE(changed());
  EXPECT_TRUE(changed()) << "and others of its children may";
}

TEST_F(Validated, OtherCallsTellBeforeTheyAreMade) {
  fetches(1);
  int one = 1, sum = 0;
  Changes other;
  other.add(number_, 1);
  bool first = true;
  fake::reset();
  fake::others_say([&](void* result) {
    if (!first) return;
    first = false;
    for (std::size_t i = 0; i < Changes::kWords; ++i)
      static_cast<std::uint64_t*>(result)[i] |= other.words()[i];
  });
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(fake::calls("Allreduce"), 2u);
  EXPECT_EQ(sum, 1);
  EXPECT_EQ(fetches(1), 1u);
}

TEST_F(Validated, AnotherAcquireEndsEverything) {
  fetches(1);
  const int message = 1;
  int got = 0;
  fake::arrive(2, 5, MPI_COMM_WORLD, &message, sizeof message);
  MPI_Recv(&got, 1, MPI_INT, 2, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  barrier();  // does not bring back what the receive ended
  EXPECT_EQ(fetches(1), 1u);
}

TEST_F(Validated, AnotherCommunicatorOfTheSameMembersTells) {
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  fetches(1);
  notified([&] { MPI_Barrier(copy); });
  EXPECT_EQ(fetches(1), 0u);
  MPI_Comm_free(&copy);
  fake::reset();
  MPI_Barrier(MPI_COMM_SELF);
  EXPECT_EQ(fake::calls("Barrier"), 1u) << "others are in the window";
  EXPECT_EQ(fetches(1), 1u);
}

TEST_F(Validated, AnErrorEndsEverythingAndIsReturned) {
  fetches(1);
  fake::fail("Allreduce", MPI_ERR_OTHER);
  EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_ERR_OTHER);
  EXPECT_EQ(fetches(1), 1u);
}

TEST_F(Validated, AnExposureEpochIsTold) {
  EXPECT_FALSE(barrier().may_have_changed(number_, 0));
  Window& window = *find_window(win_);
  note_exposure(window, true);
  EXPECT_TRUE(barrier().may_have_changed(number_, 0));
  EXPECT_TRUE(barrier().may_have_changed(number_, 0));
  note_exposure(window, false);
  EXPECT_TRUE(barrier().may_have_changed(number_, 0));
  EXPECT_FALSE(barrier().may_have_changed(number_, 0));
}

TEST_F(Validated, MemoryThatNeighboursKnowIsAlwaysTold) {
  show_to_neighbours(win_);
  EXPECT_TRUE(barrier().may_have_changed(number_));
  EXPECT_TRUE(barrier().may_have_changed(number_));
}

/// A function of the program's that the library calls where Hob holds a lock: the others do what
/// they always do, so this process has to do the same, without a look at anything.
TEST_F(Validated, WhereHobCannotLookEverythingMayHaveChanged) {
  fetches(1);
  Changes said;
  {
    depth += kExclusive;
    const ProgramGuard guard;
    said = barrier();
  }
  depth -= kExclusive;
  EXPECT_TRUE(said.may_have_changed(number_));
  EXPECT_EQ(fetches(1), 1u);
}

TEST_F(Validated, TellingGetsRareWhereNobodyAsks) {
  end_window();
  make_window("auto");
  for (int i = 0; i < 1000; ++i) MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_LT(fake::calls("Allreduce"), 100u);
  EXPECT_EQ(fake::calls("Allreduce") + fake::calls("Barrier"), 1000u);
}

/// Who asked for copies of one window may ask for those of the next.
TEST_F(Validated, TellingBeginsAnewWithANewWindow) {
  end_window();
  make_window("auto");
  fetches(1);
  EXPECT_TRUE(barrier().asked());
  for (int i = 0; i < 1000; ++i) MPI_Barrier(MPI_COMM_WORLD);
  int* memory = nullptr;
  MPI_Win another = MPI_WIN_NULL;
  MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &another);
  fake::reset();
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(fake::calls("Allreduce"), 1u);
  MPI_Win_free(&another);
}

/// Nobody watches memory for nothing.
TEST_F(Validated, MemoryIsWatchedOnceSomebodyAsks) {
  end_window();
  make_window("auto");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(barrier().may_have_changed(number_, 0));
  fetches(1);
  EXPECT_TRUE(barrier().asked());
  EXPECT_TRUE(barrier().may_have_changed(number_, 0));  // from here on
  fetches(1);
  EXPECT_FALSE(barrier().may_have_changed(number_, 0));
  EXPECT_EQ(fetches(1), 0u);
}

/// What a program that gained pays after it stopped: exchanges are few, and one gets the gain back.
TEST_F(Validated, TellingEndsWithTheGainAndComesBackWithIt) {
  end_window();
  make_window("auto");
  const auto gain = [&](int steps) {
    std::uint64_t fetched = 0;
    for (int i = 0; i < steps; ++i) {
      // Gets take next to no time here, and looking for stores what it takes elsewhere.
      for (int place = 0; place < 4000; ++place) fetched += fetches(1, place);
      barrier();
    }
    return fetched;
  };
  // A trial that this machine interrupted costs so much that the next one is long after it.
  const auto gains_in_the_end = [&] {
    for (int tries = 0; tries < 1000; ++tries) {
      if (gain(50) == 0) return true;
    }
    return false;
  };
  EXPECT_TRUE(gains_in_the_end());
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 200; ++i) MPI_Barrier(MPI_COMM_WORLD);
    fake::reset();
    for (int i = 0; i < 1000; ++i) MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_LE(fake::calls("Allreduce"), 10u);
    EXPECT_EQ(fake::calls("Allreduce") + fake::calls("Barrier"), 1000u);
    EXPECT_TRUE(tracking_off()) << "nothing is kept any more";
    EXPECT_TRUE(gains_in_the_end());
  }
}

/// A window that nobody reads: soon nothing is tracked for it, and barriers stay barriers.
TEST_F(Validated, AWindowThatNobodyReadsCostsNothing) {
  end_window();
  make_window("auto");
  const int value = 5;
  for (int i = 0; i < 1000; ++i) {
    MPI_Put(&value, 1, MPI_INT, 3, 1, 1, MPI_INT, win_);
    MPI_Win_flush_all(win_);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  EXPECT_LE(fake::calls("Allreduce"), 16u);
  EXPECT_TRUE(tracking_off());
}

/// A process that writes much and reads nothing is not tracked, and says that it may have written.
TEST_F(Validated, ManyWritesWithoutGetsAreNotSeenOneByOne) {
  const int value = 5;
  for (std::uint64_t i = 0; i < TrackingState::kPatience; ++i) {
    EXPECT_FALSE(tracking_off());
    MPI_Put(&value, 1, MPI_INT, 3, 1, 1, MPI_INT, win_);
  }
  EXPECT_TRUE(tracking_off());
  MPI_Win_flush_all(win_);
  EXPECT_TRUE(barrier().may_have_changed(number_));
  EXPECT_FALSE(tracking_off());
  EXPECT_TRUE(barrier().may_have_changed(number_));
  MPI_Win_flush_all(win_);
  EXPECT_TRUE(barrier().may_have_changed(number_)) << "some may have arrived since";
  EXPECT_FALSE(barrier().may_have_changed(number_));
}

/// More targets than have a bit each: what is reported is found by name. 4 ranks, 150 windows.
TEST_F(Validated, OfManyWindowsTheOneThatWasWrittenToIsDropped) {
  std::vector<MPI_Win> others(149);
  for (MPI_Win& other : others) {
    int* memory = nullptr;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &other);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  fetches(1);
  fetches(2);
  fake::reset();
  const auto say = [&](std::uint64_t window, int rank) {
    fake::others_say([=](void* words) {
      Changes changes;
      changes.begin(fake::kWorldSize, 150 * fake::kWorldSize);
      changes.add(window, rank);
      static_cast<Changes::Large*>(words)->unite(changes.many());
    });
    MPI_Barrier(MPI_COMM_WORLD);
    fake::others_say({});
  };
  for (const MPI_Win other : others) say(find_window(other)->validation->number, 1);
  EXPECT_EQ(fetches(1), 0u);
  say(number_, 2);
  EXPECT_EQ(fetches(1), 0u);
  EXPECT_EQ(fetches(2), 1u);
  EXPECT_EQ(fake::calls("Op_create"), 0u) << "made once";
  for (MPI_Win& other : others) MPI_Win_free(&other);
  fetches(1);
  fake::reset();
  barrier();
  EXPECT_EQ(fetches(1), 0u) << "a bit each again";
  forget_communicator(MPI_COMM_WORLD);
  EXPECT_EQ(fake::calls("Op_free"), 1u);
  EXPECT_EQ(fake::calls("Type_free"), 1u);
}

}  // namespace
}  // namespace hob::mpi
