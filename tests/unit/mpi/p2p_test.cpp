// Receives in Hob's queues, on a library that counts: what is dequeued, in which order, and what
// becomes of it when the library or the memory fails.
#include "mpi/p2p/p2p.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "fake_mpi.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/p2p/direct_calls.hpp"
#include "mpi/p2p/matcher.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/state.hpp"
#include "mpi/progress/pollers.hpp"
#include "mpi/progress/state.hpp"

namespace hob::mpi::p2p {
namespace {

/// With match = always, on a communicator of its own.
class Matching : public testing::Test {
 protected:
  void SetUp() override {
    mode_ = takeover().mode;
    few_ = takeover().few;
    takeover().mode = Takeover::Mode::always;
    takeover().few = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    fake::reset();
  }
  void TearDown() override {
    EXPECT_TRUE(matcher().active.empty());
    EXPECT_EQ(matching.queued.load(), 0u);
    MPI_Comm_free(&comm_);
    takeover().mode = mode_;
    takeover().few = few_;
  }

  MPI_Request start(int* value, int source, int tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Irecv(value, 1, MPI_INT, source, tag, comm_, &request), MPI_SUCCESS);
    return request;
  }
  void arrive(int source, int tag, int value) {
    fake::arrive(source, tag, comm_, &value, sizeof value);
  }

  MPI_Comm comm_ = MPI_COMM_NULL;

 private:
  Takeover::Mode mode_{};
  std::uint64_t few_ = 0;
};

TEST_F(Matching, AReceiveWaitsInThePrqUntilItsMessageIsDequeued) {
  int value = 0;
  MPI_Request request = start(&value, 1, 5);
  EXPECT_EQ(fake::calls("Irecv"), 0u);
  int flag = 1;
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  EXPECT_FALSE(flag);
  arrive(1, 5, 42);
  MPI_Status status{};
  EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
  EXPECT_EQ(value, 42);
  EXPECT_EQ(status.MPI_SOURCE, 1);
  EXPECT_EQ(status.MPI_TAG, 5);
  EXPECT_EQ(fake::calls("Imrecv"), 1u);
}

// A million messages that the provider keeps cost memory, and no sender waits for a slow receiver
// any more: nothing of that may happen to programs whose queues are short.
TEST(MessagesOfTheProvider, AreAsManyAsByDefaultUnlessAllReceivesAreTakenOver) {
  std::string& match = context().settings.match;
  const std::string before = match;
  unsetenv("FI_TCP_MAX_SAVED");
  match = "auto";
  prepare();
  EXPECT_EQ(std::getenv("FI_TCP_MAX_SAVED"), nullptr);
  match = "always";
  prepare();
  EXPECT_STREQ(std::getenv("FI_TCP_MAX_SAVED"), "1000000");
  unsetenv("FI_TCP_MAX_SAVED");
  match = before;
}

TEST_F(Matching, TheOldestReceiveTakesTheMessageWildcardOrNot) {
  int any = 0, exact = 0;
  MPI_Request first = start(&any, MPI_ANY_SOURCE, MPI_ANY_TAG);
  MPI_Request second = start(&exact, 2, 7);
  arrive(2, 7, 1);
  arrive(2, 7, 2);
  MPI_Wait(&second, MPI_STATUS_IGNORE);
  MPI_Wait(&first, MPI_STATUS_IGNORE);
  EXPECT_EQ(any, 1);
  EXPECT_EQ(exact, 2);
}

TEST_F(Matching, AMessageThatNobodyWantsYetIsReceivedFromTheUmq) {
  int later = 0, now = 0;
  MPI_Request request = start(&later, 1, 9);
  arrive(1, 5, 50);
  int flag = 1;
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  EXPECT_FALSE(flag);
  EXPECT_EQ(matching.queued.load(), 1u);
  MPI_Status status{};
  MPI_Iprobe(MPI_ANY_SOURCE, 5, comm_, &flag, &status);
  EXPECT_TRUE(flag);
  EXPECT_EQ(status.MPI_SOURCE, 1);
  EXPECT_EQ(MPI_Recv(&now, 1, MPI_INT, 1, 5, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(now, 50);
  EXPECT_EQ(fake::calls("Recv"), 0u);
  arrive(1, 9, 90);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(later, 90);
}

TEST_F(Matching, AProbeOfOneCommunicatorDequeuesForTheOthers) {
  int value = 0, flag = 1;
  MPI_Request request = start(&value, 1, 5);
  arrive(1, 5, 42);
  MPI_Iprobe(1, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  EXPECT_FALSE(flag);
  EXPECT_EQ(fake::calls("Imrecv"), 1u);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(value, 42);
}

TEST_F(Matching, WithAFullUmqReceivesGoToTheLibrary) {
  takeover().most_bytes = sizeof(int);
  int value = 0, flag = 1;
  MPI_Request request = start(&value, 1, 5);
  arrive(2, 7, 70);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  EXPECT_FALSE(flag);
  EXPECT_EQ(fake::calls("Irecv"), 1u);
  takeover().most_bytes = UINT64_MAX;
  arrive(1, 5, 42);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(value, 42);
  MPI_Recv(&value, 1, MPI_INT, 2, 7, comm_, MPI_STATUS_IGNORE);
  EXPECT_EQ(value, 70);
}

TEST_F(Matching, ACancelledReceiveLeavesThePrq) {
  int value = 0, other = 0;
  MPI_Request request = start(&value, 1, 5), second = start(&other, 1, 5);
  MPI_Cancel(&request);
  MPI_Status status{};
  MPI_Wait(&request, &status);
  int cancelled = 0;
  real::Test_cancelled(&status, &cancelled);
  EXPECT_TRUE(cancelled);
  arrive(1, 5, 3);
  MPI_Wait(&second, MPI_STATUS_IGNORE);
  EXPECT_EQ(other, 3);
  EXPECT_EQ(value, 0);
}

TEST_F(Matching, RepostedReceivesGoToTheLibraryInOrder) {
  std::vector<int> values(3);
  std::vector<MPI_Request> requests;
  for (int i = 0; i < 3; ++i) requests.push_back(start(&values[static_cast<std::size_t>(i)], 1, i));
  p2p::repost_natively(comm_);
  EXPECT_EQ(fake::calls("Irecv"), 3u);
  EXPECT_TRUE(matcher().active.empty());
  for (int i = 0; i < 3; ++i) arrive(1, i, 10 + i);
  MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);
  EXPECT_EQ(values, (std::vector<int>{10, 11, 12}));
}

TEST_F(Matching, AMatchedProbeTellsOfAMessageInTheUmqAndTakesIt) {
  int later = 0, now = 0, flag = 1;
  MPI_Request request = start(&later, 1, 9);
  arrive(2, 5, 50);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  ASSERT_EQ(matching.queued.load(), 1u);
  MPI_Status status{};
  MPI_Message message = MPI_MESSAGE_NULL;
  EXPECT_EQ(MPI_Improbe(MPI_ANY_SOURCE, 5, comm_, &flag, &message, &status), MPI_SUCCESS);
  EXPECT_TRUE(flag);
  EXPECT_EQ(status.MPI_SOURCE, 2);
  EXPECT_EQ(status.MPI_TAG, 5);
  int count = 0;
  real::Get_count(&status, MPI_INT, &count);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(matching.queued.load(), 0u);
  EXPECT_EQ(MPI_Mrecv(&now, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(now, 50);
  arrive(1, 9, 90);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(later, 90);
}

TEST_F(Matching, ACallThatSendsTooGoesToTheLibraryUnseenWhileNothingWaitsHere) {
  EXPECT_FALSE(simply_native(comm_)) << "with match = always";
  takeover().mode = Takeover::Mode::automatic;
  EXPECT_TRUE(simply_native(comm_));
  EXPECT_TRUE(fast_path.exchange(comm_));
  EXPECT_FALSE(fast_path.exchange(MPI_COMM_WORLD));
  for (std::int32_t i = 1; i < tuning::kExchangesAtOnce; ++i)
    ASSERT_TRUE(fast_path.exchange(comm_)) << i;
  EXPECT_FALSE(fast_path.exchange(comm_)) << "a report may be due";
  EXPECT_TRUE(simply_native(comm_));
  EXPECT_TRUE(fast_path.exchange(comm_));
  takeover().mode = Takeover::Mode::always;
  int value = 0;
  MPI_Request request = start(&value, 1, 5);
  EXPECT_FALSE(fast_path.exchange(comm_)) << "its message could be drawn";
  EXPECT_FALSE(simply_native(comm_));
  arrive(1, 5, 42);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(value, 42);
}

TEST_F(Matching, AnErrorOfTheLibraryIsTheReceives) {
  int value = 0;
  MPI_Request request = start(&value, 1, 5);
  arrive(1, 5, 42);
  fake::fail("Imrecv", MPI_ERR_OTHER);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
}

TEST_F(Matching, TooLongAMessageIsTruncatedAndTheBufferLeftAlone) {
  int value = 7;
  MPI_Request request = start(&value, 1, 5);
  const std::vector<int> message(4, 1);
  fake::arrive(1, 5, comm_, message.data(), message.size() * sizeof(int));
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(fake::calls("Comm_call_errhandler"), 1u);
}

TEST_F(Matching, WithoutMemoryTheLibraryReceives) {
  constexpr int kMost = 64;
  static int values[kMost];
  static MPI_Request requests[kMost];
  int rounds = 0, failures = 0;
  const auto attempt = [&] {
    // Each time more than what is kept from the last time, so that memory is asked for.
    const int count = std::min(++rounds, kMost);
    for (int i = 0; i < count; ++i) {
      const int error = MPI_Irecv(&values[i], 1, MPI_INT, 1, i, comm_, &requests[i]);
      const fake::detail::Sparing sparing;
      ASSERT_EQ(error, MPI_SUCCESS);
      arrive(1, i, 100 + i);
    }
    for (int i = 0; i < count; ++i) {
      const int error = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      const fake::detail::Sparing sparing;
      ASSERT_EQ(error, MPI_SUCCESS);
      ASSERT_EQ(values[i], 100 + i);
    }
  };
  failures = fake::with_each_allocation_failing(attempt);
  EXPECT_GT(failures, 0);
  EXPECT_GT(fake::calls("Irecv"), 0u);
}

TEST_F(Matching, AThreadBesideTheProgramDequeues) {
  int value = 0;
  MPI_Request request = start(&value, 1, 5);
  arrive(1, 4, 41);
  arrive(1, 5, 42);
  EXPECT_TRUE(advance_by_thread());
  EXPECT_TRUE(matcher().active.empty());
  EXPECT_EQ(matching.queued.load(), 1u);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(value, 42);
  MPI_Recv(&value, 1, MPI_INT, 1, 4, comm_, MPI_STATUS_IGNORE);
  EXPECT_EQ(value, 41);
}

TEST_F(Matching, AnErrorBesideTheProgramReachesItsHandlerInItsNextCall) {
  constexpr auto kOwnHandler = static_cast<MPI_Errhandler>(0x55000001);
  const auto handler = [&] {
    MPI_Errhandler now = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(comm_, &now);
    return now;
  };
  MPI_Comm_set_errhandler(comm_, kOwnHandler);
  int value = 0;
  MPI_Request request = start(&value, 1, 5);
  arrive(1, 5, 42);
  fake::fail("Imrecv", MPI_ERR_OTHER);
  fake::during("Imrecv", [&] { EXPECT_EQ(handler(), MPI_ERRORS_RETURN); });
  EXPECT_TRUE(advance_by_thread());
  EXPECT_EQ(handler(), kOwnHandler);
  EXPECT_EQ(fake::calls("Comm_call_errhandler"), 0u);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
  EXPECT_EQ(fake::calls("Comm_call_errhandler"), 1u);
  // The next receive, of which nothing is wrong, may be the same object.
  fake::reset();
  request = start(&value, 1, 5);
  arrive(1, 5, 43);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Comm_call_errhandler"), 0u);
}

TEST_F(Matching, AReceiveThatFailedIsNotCancelledAtTheLibrary) {
  int value = 0;
  MPI_Request request = start(&value, 1, 5);
  arrive(1, 5, 42);
  fake::fail("Imrecv", MPI_ERR_OTHER);
  EXPECT_TRUE(advance_by_thread());
  EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Cancel"), 0u) << "it has no request there";
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
}

TEST_F(Matching, AThreadBesideTheProgramCallsNoFunctionsOfIt) {
  int value = 0;
  MPI_Request request = start(&value, 1, 5);
  arrive(1, 5, 42);
  delete_callbacks.fetch_or(kDatatypes);  // of copies of its datatypes' attributes
  EXPECT_FALSE(advance_by_thread());
  delete_callbacks.fetch_and(~unsigned{kDatatypes});
  many_threads = true;  // one may be setting the error handler
  EXPECT_FALSE(advance_by_thread());
  many_threads = false;
  EXPECT_FALSE(matcher().active.empty());
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_TRUE(advance_by_thread()) << "nothing is under way";
}

/// With several threads and match = auto: from the third receive that waits on, they are taken
/// over. With `true`, nothing else of Hob's has anything to do (pmpi/wrapper.hpp, threads_at_rest).
class ReceivesOfThreads : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    tracking_ = concerns.parts_tracking.exchange(GetParam() ? 1 : 2);
    concerns.threads_alone = true;
    mode_ = takeover().mode;
    takeover().mode = Takeover::Mode::automatic;
    takeover().user_threshold = 2;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    many_threads = true;
    channel_ = channel_of(comm_);
    // Not as over libfabric, where `auto` leaves all to the library then.
    channel_->native_only = channel_->asks_source = channel_->uncounted = false;
    fake::reset();
    fake::hold_requests(1);
  }
  void TearDown() override {
    EXPECT_TRUE(matcher().active.empty());
    EXPECT_EQ(matching.queued.load(), 0u);
    MPI_Comm_free(&comm_);
    many_threads = false;
    overlap_thread::own_state.slot = nullptr;  // a program has many threads for good
    takeover().mode = mode_;
    takeover().user_threshold = 0;
    concerns.threads_alone = false;
    concerns.parts_tracking = tracking_;
  }

  int receive(int tag) {
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, 1, tag, comm_, MPI_STATUS_IGNORE);
    return value;
  }
  void arrive(int tag, int value) { fake::arrive(1, tag, comm_, &value, sizeof value); }
  /// The first one asks how many may go to the library.
  void receive_first() {
    arrive(0, 40);
    EXPECT_EQ(receive(0), 40);
  }
  void start() {
    const int tag = 100 + static_cast<int>(requests_.size());
    requests_.push_back(MPI_REQUEST_NULL);
    MPI_Irecv(&values_.at(requests_.size() - 1), 1, MPI_INT, 1, tag, comm_, &requests_.back());
  }
  /// The last ones first: the fake library matches a message when it is asked for it, so that one
  /// could be drawn which a receive waits for there.
  void complete() {
    for (std::size_t i = requests_.size(); i-- > 0;) {
      arrive(100 + static_cast<int>(i), static_cast<int>(i));
      EXPECT_EQ(MPI_Wait(&requests_[i], MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(values_[i], static_cast<int>(i));
    }
    requests_.clear();
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  Channel* channel_ = nullptr;

 private:
  std::vector<int> values_ = std::vector<int>(64);
  std::vector<MPI_Request> requests_;
  Takeover::Mode mode_{};
  int tracking_ = 0;
};
INSTANTIATE_TEST_SUITE_P(All, ReceivesOfThreads, testing::Bool());

TEST_P(ReceivesOfThreads, GoStraightToTheLibraryAndAreCounted) {
  receive_first();
  EXPECT_EQ(fake::calls("Recv"), 0u);
  for (int i = 0; i < 20; ++i) {
    arrive(5, i);
    EXPECT_EQ(receive(5), i);
  }
  EXPECT_EQ(fake::calls("Recv"), 20u);
  EXPECT_EQ(fake::calls("Irecv"), 1u);
  const std::lock_guard guard(gate);
  settle_direct_calls();
  EXPECT_EQ(channel_->meters.counters.native, 21u);
}

// Its message would be drawn before the library has its receive, and it would wait for ever.
TEST_P(ReceivesOfThreads, NothingIsDequeuedWhileAThreadMayBeAboutToReceive) {
  receive_first();
  arrive(5, 42);
  fake::during("Recv", [&] {
    std::thread([&] {
      for (int i = 0; i < 5; ++i) start();
    }).join();
  });
  EXPECT_EQ(receive(5), 42);
  EXPECT_EQ(fake::calls("Recv"), 1u);
  EXPECT_EQ(fake::calls("Irecv"), 6u);
  EXPECT_EQ(fake::calls("Improbe"), 0u);
  complete();
}

TEST_P(ReceivesOfThreads, NoneGoesThereByItselfWhileMessagesAreDequeued) {
  receive_first();
  for (int i = 0; i < 3; ++i) start();
  EXPECT_EQ(matcher().active.size(), 1u);
  arrive(5, 42);
  EXPECT_EQ(receive(5), 42);
  EXPECT_EQ(fake::calls("Recv"), 0u);
  complete();
  // And then again.
  receive_first();
  arrive(5, 43);
  EXPECT_EQ(receive(5), 43);
  EXPECT_EQ(fake::calls("Recv"), 1u);
}

/// From a function of the program's that the library calls, a receive is the library's, whatever
/// Hob has granted.
TEST_P(ReceivesOfThreads, OneFromWithinTheLibraryIsTheLibrarysAlone) {
  arrive(5, 42);
  depth += kCall;
  EXPECT_EQ(receive(5), 42);
  depth -= kCall;
  EXPECT_EQ(fake::calls("Recv"), 1u);
  EXPECT_EQ(fake::calls("Irecv"), 0u);
}

TEST_P(ReceivesOfThreads, AProbeGoesThereToo) {
  receive_first();
  arrive(5, 42);
  int flag = 0;
  fake::during("Iprobe", [&] { EXPECT_FALSE(gate.mine()); });
  EXPECT_EQ(MPI_Iprobe(1, 5, comm_, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_TRUE(flag);
  EXPECT_EQ(receive(5), 42);
}

TEST_P(ReceivesOfThreads, AnotherCommunicatorOfTheSameHandleBeginsAnew) {
  receive_first();
  EXPECT_TRUE(own_direct->has_grant());
  MPI_Comm_free(&comm_);
  EXPECT_FALSE(own_direct->has_grant());
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
}

}  // namespace
}  // namespace hob::mpi::p2p
