// The registry of requests: what stands behind a handle, who hears of its end, and when.
#include <gtest/gtest.h>

#include <vector>

#include "fake_mpi.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/state.hpp"
#include "mpi/requests/known.hpp"
#include "mpi/requests/may_learn.hpp"
#include "mpi/requests/postponed_start.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi {
namespace {

struct Behind : Operation {
  int ready_after = 0;
  int error = MPI_SUCCESS;
  int asked = 0, results = 0, retired = 0, abandoned = 0, cancelled = 0;

  bool ready() override {
    ++asked;
    return ready_after-- <= 0;
  }
  int result(MPI_Status* status) override {
    ++results;
    if (status != MPI_STATUS_IGNORE) status->MPI_TAG = 77;
    return error;
  }
  void retire() override { ++retired; }
  void abandon() override { ++abandoned; }
  void cancel() override { ++cancelled; }
};

struct Listener : CompletionObserver {
  std::vector<std::uint64_t> heard, lost;
  int times_asked = 0;
  void asked(std::uint64_t) override { ++times_asked; }
  void completed(std::uint64_t cookie, bool freed) override {
    (freed ? lost : heard).push_back(cookie);
  }
  bool is_acquire() const override { return false; }
  bool may_end() const override { return ends; }
  bool ends = false;
};

/// A request of the library's own.
MPI_Request library_request(MPI_Win win) {
  static int value;
  MPI_Request request = MPI_REQUEST_NULL;
  real::Rget(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request);
  return request;
}

class Requests : public testing::Test {
 protected:
  void SetUp() override {
    fake::reset();
    real::Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base_, &win_);
  }
  void TearDown() override {
    EXPECT_TRUE(requests::none_alive());
    real::Win_free(&win_);
  }
  void* base_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
};

TEST_F(Requests, AWaitEndsWhatStandsBehindAHandle) {
  Behind operation;
  operation.ready_after = 5;
  MPI_Request request = requests::add(operation);
  EXPECT_EQ(requests::find(request), &operation);
  MPI_Status status{};
  status.MPI_ERROR = 42;
  EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_EQ(status.MPI_TAG, 77);
  EXPECT_EQ(status.MPI_ERROR, 42);  // MPI leaves it alone for a single request
  EXPECT_EQ(operation.retired, 1);
}

TEST_F(Requests, HandlesAreUsedAgain) {
  Behind first;
  MPI_Request request = requests::add(first);
  const MPI_Request handle = request;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  fake::reset();
  for (int i = 0; i < 100; ++i) {
    Behind operation;
    request = requests::add(operation);
    EXPECT_EQ(request, handle);
    int flag = 0;
    EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(operation.retired, 1);
  }
  EXPECT_EQ(fake::calls("Grequest_start"), 0u);
}

TEST_F(Requests, ATestTellsNothingTooEarly) {
  Behind operation;
  operation.ready_after = 3;
  MPI_Request request = requests::add(operation);
  int flag = 1, tests = 0;
  while (operation.retired == 0) {
    ASSERT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ASSERT_LE(++tests, 4);
    EXPECT_EQ(flag, operation.retired);
    EXPECT_EQ(request == MPI_REQUEST_NULL, flag != 0);
  }
  EXPECT_GT(tests, 1);
}

TEST_F(Requests, SomeThatEndWithAnErrorAreToldInTheirStatuses) {
  for (const bool waits : {true, false}) {
    Behind good, bad;
    bad.error = MPI_ERR_TRUNCATE;
    MPI_Request list[]{requests::add(good), requests::add(bad)};
    int count = 0, places[2] = {-1, -1};
    MPI_Status statuses[2]{};
    statuses[0].MPI_ERROR = statuses[1].MPI_ERROR = 42;
    EXPECT_EQ(waits ? MPI_Waitsome(2, list, &count, places, statuses)
                    : MPI_Testsome(2, list, &count, places, statuses),
              MPI_ERR_IN_STATUS);
    EXPECT_EQ(count, 2);
    EXPECT_EQ(places[0], 0);
    EXPECT_EQ(places[1], 1);
    EXPECT_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
    EXPECT_EQ(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_EQ(list[1], MPI_REQUEST_NULL);
  }
}

// Of a long array that is polled, only what is missing is asked for.
TEST_F(Requests, PollingALongArrayAsksForWhatIsMissing) {
  std::vector<Behind> operations(100);
  operations[20].ready_after = 300;
  operations[90].ready_after = 500;
  std::vector<MPI_Request> list;
  for (Behind& operation : operations) list.push_back(requests::add(operation));
  list.push_back(library_request(win_));
  int flag = 0, polls = 0;
  while (!flag) {
    ASSERT_EQ(MPI_Testall(101, list.data(), &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    ASSERT_LE(++polls, 1000);
    EXPECT_EQ(operations[90].retired, flag);
  }
  EXPECT_GT(polls, 200);
  int asked = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    EXPECT_EQ(operations[i].retired, 1);
    if (i != 20 && i != 90) asked += operations[i].asked;
  }
  EXPECT_LT(asked, 600);
  for (MPI_Request request : list) EXPECT_EQ(request, MPI_REQUEST_NULL);
}

TEST_F(Requests, AnErrorIsTheWaits) {
  Behind operation;
  operation.error = MPI_ERR_TRUNCATE;
  MPI_Request request = requests::add(operation);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  EXPECT_EQ(operation.retired, 1);
}

TEST_F(Requests, OneErrorAmongManyIsInItsStatus) {
  Behind good, bad;
  bad.error = MPI_ERR_TRUNCATE;
  MPI_Request list[] = {requests::add(good), library_request(win_), requests::add(bad)};
  MPI_Status statuses[3] = {};
  EXPECT_EQ(MPI_Waitall(3, list, statuses), MPI_ERR_IN_STATUS);
  EXPECT_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
  EXPECT_EQ(statuses[1].MPI_ERROR, MPI_SUCCESS);
  EXPECT_EQ(statuses[2].MPI_ERROR, MPI_ERR_TRUNCATE);
  EXPECT_EQ(good.retired + bad.retired, 2);
}

TEST_F(Requests, FreeAndCancelReachTheOperation) {
  Behind operation;
  operation.ready_after = 1000;
  MPI_Request request = requests::add(operation);
  EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_EQ(operation.cancelled, 1);
  EXPECT_EQ(operation.abandoned, 1);
  EXPECT_EQ(operation.retired, 0);
}

TEST_F(Requests, AnObserverHearsOnce) {
  Listener listener;
  fake::hold_requests(3);
  MPI_Request request = library_request(win_);
  requests::watch(request, listener, 5);
  int flag = 0, tests = 0;
  while (!flag) {
    EXPECT_TRUE(listener.heard.empty());
    ASSERT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ++tests;
  }
  EXPECT_EQ(tests, 4);
  EXPECT_EQ(listener.heard, std::vector<std::uint64_t>{5});
}

TEST_F(Requests, EveryObserverOfAWaitallHears) {
  Listener listener;
  Behind operation;
  std::vector<MPI_Request> list;
  for (int i = 0; i < 10; ++i) {
    list.push_back(library_request(win_));
    requests::watch(list.back(), listener, static_cast<std::uint64_t>(i));
  }
  list.push_back(requests::add(operation));
  EXPECT_EQ(MPI_Waitall(static_cast<int>(list.size()), list.data(), MPI_STATUSES_IGNORE),
            MPI_SUCCESS);
  EXPECT_EQ(listener.heard.size(), 10u);
  EXPECT_EQ(operation.retired, 1);
  for (MPI_Request request : list) EXPECT_EQ(request, MPI_REQUEST_NULL);
}

// An error handler or a generalized request's callback may begin another request inside the wait,
// with the handle of one that is complete.
TEST_F(Requests, ARequestBegunInsideAWaitIsNotTakenForOneThatIsWaitedFor) {
  for (const bool all : {false, true}) {
    Listener listener, other;
    fake::hold_requests(3);
    MPI_Request list[] = {library_request(win_), library_request(win_)};
    const MPI_Request first = list[0];
    for (std::uint64_t i = 0; i < 2; ++i) requests::watch(list[i], listener, i);
    fake::during(all ? "Waitall" : "Wait", [&] { requests::watch(first, other, 9); });
    if (all)
      MPI_Waitall(2, list, MPI_STATUSES_IGNORE);
    else
      MPI_Wait(&list[0], MPI_STATUS_IGNORE);
    fake::during(all ? "Waitall" : "Wait", {});
    EXPECT_TRUE(other.heard.empty());
    EXPECT_EQ(listener.lost, std::vector<std::uint64_t>{0});
    EXPECT_EQ(requests::take(first).cookie, 9u);
    if (!all) MPI_Wait(&list[1], MPI_STATUS_IGNORE);
    EXPECT_EQ(listener.heard, std::vector<std::uint64_t>{1});
  }
}

// Programs poll one request a million times: the second poll in vain is the library's.
TEST_F(Requests, OnlyTheFirstPollInVainConcernsTheObserver) {
  Listener listener;
  fake::hold_requests(6);
  MPI_Request request = library_request(win_), another = library_request(win_);
  requests::watch(request, listener, 5);
  int flag = 0;
  for (int i = 0; i < 3; ++i) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  EXPECT_EQ(listener.times_asked, 1);
  requests::watch(another, listener, 6);
  for (int i = 0; i < 3; ++i) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  EXPECT_EQ(listener.times_asked, 2);
  EXPECT_FALSE(flag);
  while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  EXPECT_EQ(listener.heard, std::vector<std::uint64_t>{5});
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  MPI_Request list[] = {another, MPI_REQUEST_NULL};
  for (flag = 0; !flag;) MPI_Testall(2, list, &flag, MPI_STATUSES_IGNORE);
  EXPECT_EQ(listener.heard, (std::vector<std::uint64_t>{5, 6}));
  EXPECT_TRUE(listener.lost.empty());
}

TEST_F(Requests, ARequestBegunInsideAPollIsNotTakenForTheOneThatIsPolled) {
  Listener listener, other;
  fake::hold_requests(2);  // in the first poll, and where it is watched again
  MPI_Request request = library_request(win_);
  const MPI_Request first = request;
  requests::watch(request, listener, 0);
  int flag = 0;
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  EXPECT_FALSE(flag);
  fake::during("Test", [&] { requests::watch(first, other, 9); });
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  fake::during("Test", {});
  EXPECT_TRUE(flag);
  EXPECT_TRUE(other.heard.empty());
  EXPECT_EQ(listener.lost, std::vector<std::uint64_t>{0});
  EXPECT_EQ(requests::take(first).cookie, 9u);
}

/// One that says when it is ready, as receives do.
struct EventDriven : Behind {
  bool is_event_driven() const override { return true; }
  void get_ready() {
    ready_after = 0;
    requests::signal(*this);
  }
  void retire() override {
    Behind::retire();
    requests::end_signal(*this);
  }
};

/// An array as programs have it: of each four, one of Hob's, one of the library's that is watched,
/// one that is not, and none.
struct MixedArray {
  static constexpr std::size_t kPlaces = 16;
  std::vector<EventDriven> operations = std::vector<EventDriven>(kPlaces);
  std::vector<MPI_Request> requests;

  MixedArray(MPI_Win win, Listener& listener) {
    for (std::size_t i = 0; i < kPlaces; ++i) requests.push_back(fresh(i, win, listener));
  }
  MPI_Request fresh(std::size_t place, MPI_Win win, Listener& listener) {
    if (place % 4 == 0) {
      operations[place].ready_after = 1'000'000;
      return requests::add(operations[place]);
    }
    if (place % 4 == 3) return MPI_REQUEST_NULL;
    const MPI_Request request = library_request(win);
    if (place % 4 == 1) requests::watch(request, listener, place);
    return request;
  }
  int count() const { return static_cast<int>(requests.size()); }
};

// A call that the program makes as often as there are requests, on one array.
TEST_F(Requests, WhoeverWaitsForAnyFindsEachOnceAtItsPlace) {
  for (const bool threads : {false, true}) {
    many_threads = threads;
    fake::hold_requests(4);
    Listener listener;
    MixedArray array(win_, listener);
    std::vector<int> found(MixedArray::kPlaces);
    int renewed = 0, next = 0;
    for (;;) {
      if (next < array.count()) array.operations[static_cast<std::size_t>(next)].get_ready();
      next += 4;
      int index = -1;
      MPI_Status status{};
      ASSERT_EQ(MPI_Waitany(array.count(), array.requests.data(), &index, &status), MPI_SUCCESS);
      if (index == MPI_UNDEFINED) break;
      const auto place = static_cast<std::size_t>(index);
      ++found[place];
      EXPECT_EQ(array.requests[place], MPI_REQUEST_NULL);
      EXPECT_EQ(status.MPI_TAG == 77, place % 4 == 0 || found[place] == 2);
      if (place % 4 == 1) {
        EXPECT_EQ(listener.heard.back(), place);
      }
      if (place == 5 && renewed++ == 0) {  // another request, of another kind, takes its place
        array.operations[5].get_ready();
        array.requests[5] = requests::add(array.operations[5]);
      }
    }
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(found[i], i % 4 == 3 ? 0 : i == 5 ? 2 : 1) << i;
    EXPECT_EQ(listener.heard.size(), 4u);
    EXPECT_TRUE(listener.lost.empty());
    many_threads = false;
  }
}

// The same in the other calls on arrays, whose answers come together.
TEST_F(Requests, WhoeverTestsSomeHearsOfEachOnceAtItsPlace) {
  for (const bool threads : {false, true}) {
    many_threads = threads;
    fake::hold_requests(4);
    Listener listener;
    MixedArray array(win_, listener);
    std::vector<int> found(MixedArray::kPlaces);
    for (int next = 0, count = 0; count != MPI_UNDEFINED; next += 4) {
      if (next < array.count()) array.operations[static_cast<std::size_t>(next)].get_ready();
      std::vector<int> places(MixedArray::kPlaces);
      std::vector<MPI_Status> statuses(MixedArray::kPlaces);
      ASSERT_EQ(MPI_Testsome(array.count(), array.requests.data(), &count, places.data(),
                             statuses.data()),
                MPI_SUCCESS);
      for (int i = 0; count != MPI_UNDEFINED && i < count; ++i) {
        const auto place = static_cast<std::size_t>(places[static_cast<std::size_t>(i)]);
        ++found[place];
        EXPECT_EQ(statuses[static_cast<std::size_t>(i)].MPI_TAG == 77, place % 4 == 0);
      }
    }
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], i % 4 == 3 ? 0 : 1) << i;
    EXPECT_EQ(listener.heard.size(), 4u);
    EXPECT_TRUE(listener.lost.empty());
    many_threads = false;
  }
}

/// While the program has several threads.
class RequestsOfThreads : public Requests {
 protected:
  void SetUp() override {
    Requests::SetUp();
    fake::hold_requests(2);
    many_threads = true;
    acquires.users.fetch_add(1);  // else nobody asks what a wait may tell
  }
  void TearDown() override {
    many_threads = false;
    acquires.users.fetch_sub(1);
    Requests::TearDown();
  }
  static bool watched(MPI_Request request) { return requests::look_up(request).watch != 0; }
};

// The library gives a handle away as soon as its request is complete, though the wait goes on.
TEST_F(RequestsOfThreads, WhatIsWaitedForIsNotTakenForAnotherOnesRequest) {
  for (const bool all : {false, true}) {
    Listener listener;
    MPI_Request list[] = {library_request(win_), library_request(win_)};
    const MPI_Request first = list[0];
    for (std::uint64_t i = 0; i < 2; ++i) requests::watch(list[i], listener, i);
    EXPECT_FALSE(requests::MayLearn(1, list, false).all());
    int looks = 0;
    fake::during(all ? "Waitall" : "Wait", [&] {
      ++looks;
      EXPECT_FALSE(watched(first));
      EXPECT_TRUE(requests::MayLearn(1, &first, false).all());
    });
    if (all)
      MPI_Waitall(2, list, MPI_STATUSES_IGNORE);
    else
      MPI_Wait(&list[0], MPI_STATUS_IGNORE);
    EXPECT_EQ(looks, 1);
    EXPECT_EQ(listener.heard.size(), all ? 2u : 1u);
    fake::during(all ? "Waitall" : "Wait", {});
    if (!all) MPI_Wait(&list[1], MPI_STATUS_IGNORE);
    EXPECT_TRUE(listener.lost.empty());
  }
}

TEST_F(RequestsOfThreads, WhatATestLeavesIsWatchedAsBefore) {
  Listener listener;
  MPI_Request list[] = {library_request(win_), library_request(win_)};
  for (std::uint64_t i = 0; i < 2; ++i) requests::watch(list[i], listener, i);
  int flag = 0, tests = 0;
  while (!flag) {
    EXPECT_TRUE(watched(list[0]) && watched(list[1]));
    EXPECT_TRUE(listener.heard.empty());
    MPI_Testall(2, list, &flag, MPI_STATUSES_IGNORE);
    ++tests;
  }
  EXPECT_GT(tests, 1);
  EXPECT_EQ(listener.heard, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_TRUE(listener.lost.empty());
}

// Programs poll one receive a million times; in a watch that ends, nothing else is lost than its
// depth.
TEST_F(RequestsOfThreads, AWatchThatMayEndDoesSoAfterManyPolls) {
  for (const bool ends : {false, true}) {
    constexpr int kPolls = 1000;
    fake::hold_requests(kPolls);
    Listener listener;
    listener.ends = ends;
    MPI_Request request = library_request(win_);
    requests::watch(request, listener, 7);
    int flag = 0, polls = 0, seen = 0;
    for (; !flag; ++polls) {
      seen += watched(request);
      MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    EXPECT_GE(polls, kPolls);
    if (ends)
      EXPECT_LT(seen, 100);
    else
      EXPECT_EQ(seen, polls);
    EXPECT_EQ(listener.lost.size(), ends ? 1u : 0u);
    EXPECT_EQ(listener.heard.size(), ends ? 0u : 1u);
  }
}

TEST_F(RequestsOfThreads, AfterAnExceptionNobodyKnowsWhatIsComplete) {
  for (const bool all : {false, true}) {
    Listener listener;
    MPI_Request request = library_request(win_);
    requests::watch(request, listener, 7);
    const auto wait = [&] {
      return all ? MPI_Waitall(1, &request, MPI_STATUSES_IGNORE)
                 : MPI_Wait(&request, MPI_STATUS_IGNORE);
    };
    fake::during(all ? "Waitall" : "Wait", [] { throw 5; });
    EXPECT_THROW(wait(), int);
    EXPECT_EQ(listener.lost, std::vector<std::uint64_t>{7});
    EXPECT_TRUE(listener.heard.empty());
    fake::during(all ? "Waitall" : "Wait", {});
    wait();
  }
}

TEST_F(Requests, MoreAliveThanTheTableHadRoomFor) {
  std::vector<Behind> operations(1000);
  std::vector<MPI_Request> list;
  for (Behind& operation : operations) list.push_back(requests::add(operation));
  for (std::size_t i = 0; i < list.size(); ++i) EXPECT_EQ(requests::find(list[i]), &operations[i]);
  EXPECT_EQ(MPI_Waitall(1000, list.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  for (const Behind& operation : operations) EXPECT_EQ(operation.retired, 1);
}

TEST_F(Requests, WithoutMemoryNothingIsHalfDone) {
  fake::with_each_allocation_failing([&] {
    Behind operation;
    MPI_Request request = MPI_REQUEST_NULL;
    try {
      request = requests::add(operation);
    } catch (const std::bad_alloc&) {
      EXPECT_TRUE(requests::none_alive());
      return;
    }
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(operation.retired, 1);
  });
}

// What a start cannot know beforehand, such as the end of its peer: the handler runs in the
// program's next call, not where the thread makes the start, and the wait returns the error.
TEST_F(Requests, AStartThatFailsBesideTheProgramIsToldInItsNextCall) {
  const auto reported = [] { return fake::calls("Comm_call_errhandler"); };
  MPI_Request request = requests::postpone({.function = 1, .count = 1}, MPI_COMM_WORLD,
                                           [](MPI_Request*) { return MPI_ERR_OTHER; });
  ASSERT_NE(request, MPI_REQUEST_NULL);
  EXPECT_EQ(postponed.unmade.load(), 1);
  requests::make_postponed(true);
  EXPECT_EQ(postponed.unmade.load(), 0);
  EXPECT_EQ(reported(), 0u);
  requests::make_postponed(false);
  EXPECT_EQ(reported(), 1u);
  requests::make_postponed(false);
  EXPECT_EQ(reported(), 1u);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
}

}  // namespace
}  // namespace hob::mpi
