// Operations under way to targets: which calls may complete some, and what remains afterwards.
#include "mpi/rma/backend/outstanding.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace hob::mpi {
namespace {

constexpr int kAll = -1;

TEST(OutstandingOperations, NothingIsUnderWayAtFirst) {
  Outstanding operations;
  const auto seen = operations.before(kAll);
  EXPECT_FALSE(seen.any);
  EXPECT_FALSE(operations.arrived(kAll, seen));
}

TEST(OutstandingOperations, AFlushOfTheTargetCompletesThem) {
  Outstanding operations;
  operations.add(2);
  EXPECT_FALSE(operations.before(1).any);
  EXPECT_TRUE(operations.arrived(2, operations.before(2)));
  EXPECT_FALSE(operations.before(2).any);
}

TEST(OutstandingOperations, OfSeveralTargetsOneFlushCompletesOnlyItsOwn) {
  Outstanding operations;
  operations.add(1);
  operations.add(2);
  EXPECT_TRUE(operations.arrived(1, operations.before(1)));
  EXPECT_TRUE(operations.before(2).any) << "those to 2 are under way still";
  EXPECT_TRUE(operations.arrived(kAll, operations.before(kAll)));
  EXPECT_FALSE(operations.before(2).any);
}

TEST(OutstandingOperations, ThoseThatWereNotNotedMayBeAtEveryTarget) {
  Outstanding operations;
  operations.add_all();
  EXPECT_FALSE(operations.none());
  EXPECT_TRUE(operations.arrived(1, operations.before(1)));
  EXPECT_TRUE(operations.before(2).any);
  EXPECT_TRUE(operations.arrived(kAll, operations.before(kAll)));
  EXPECT_TRUE(operations.none());
}

TEST(OutstandingOperations, OneThatIsIssuedDuringTheCallIsNotCompletedByIt) {
  Outstanding operations;
  operations.add(1);
  const auto seen = operations.before(1);
  operations.add(1);  // another thread's
  EXPECT_TRUE(operations.arrived(1, seen));
  EXPECT_TRUE(operations.before(1).any);
}

TEST(OutstandingOperations, AddedByThreadsNoneIsLost) {
  many_threads = true;
  Outstanding operations;
  std::thread other([&] {
    for (int i = 0; i < 10000; ++i) operations.add(1);
  });
  for (int i = 0; i < 10000; ++i) static_cast<void>(operations.arrived(2, operations.before(2)));
  other.join();
  EXPECT_TRUE(operations.before(1).any);
  EXPECT_TRUE(operations.arrived(1, operations.before(1)));
  EXPECT_FALSE(operations.before(kAll).any);
  many_threads = false;
}

}  // namespace
}  // namespace hob::mpi
