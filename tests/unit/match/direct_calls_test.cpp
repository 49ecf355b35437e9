#include "match/direct_calls.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace hob::match {
namespace {

constexpr std::uint64_t kComm = 7, kOther = 9;

TEST(DirectCalls, WithoutAGrantNothingBegins) {
  DirectCalls calls;
  EXPECT_FALSE(calls.begin_blocking(kComm));
  calls.grant(kComm, {.nonblocking = 1, .blocking = 1});
  EXPECT_FALSE(calls.begin_blocking(kOther));
  EXPECT_FALSE(calls.begin_nonblocking(kOther));
  EXPECT_FALSE(calls.begin_probe(kOther));
  calls.end_grant();
  EXPECT_FALSE(calls.begin_blocking(kComm));
  EXPECT_FALSE(calls.inside(kComm));
}

TEST(DirectCalls, ReceivesAreCountedAndProbesAreNot) {
  DirectCalls calls;
  calls.grant(kComm, {.nonblocking = 1, .blocking = 2});
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(calls.begin_blocking(kComm));
    calls.end();
  }
  EXPECT_FALSE(calls.begin_blocking(kComm));
  ASSERT_TRUE(calls.begin_nonblocking(kComm));
  calls.end();
  EXPECT_FALSE(calls.begin_nonblocking(kComm));
  ASSERT_TRUE(calls.begin_probe(kComm));
  calls.end();
  const DirectCalls::Receives begun = calls.settle();
  EXPECT_EQ(begun.nonblocking, 1u);
  EXPECT_EQ(begun.blocking, 2u);
  EXPECT_EQ(calls.settle().blocking, 0u);
}

TEST(DirectCalls, AThreadIsInsideUntilTheCallEndsWhateverBecomesOfTheGrant) {
  DirectCalls calls;
  calls.grant(kComm, {.nonblocking = 1, .blocking = 1});
  ASSERT_TRUE(calls.begin_blocking(kComm));
  calls.end_grant();
  EXPECT_TRUE(calls.inside(kComm));
  EXPECT_FALSE(calls.inside(kOther));
  calls.end();
  EXPECT_FALSE(calls.inside(kComm));
}

// A function of the program's that the library calls: if its receive ended the outer call, that
// one's message could be drawn.
TEST(DirectCalls, ACallFromWithinAnotherDoesNotBegin) {
  DirectCalls calls;
  calls.grant(kComm, {.nonblocking = 2, .blocking = 2});
  ASSERT_TRUE(calls.begin_blocking(kComm));
  EXPECT_FALSE(calls.begin_nonblocking(kComm));
  EXPECT_FALSE(calls.begin_probe(kComm));
  EXPECT_TRUE(calls.inside(kComm));
}

// Whoever ends the grant then finds the thread inside, or the thread finds the grant ended; here
// both.
TEST(DirectCalls, ACallDoesNotBeginIfTheGrantEndsAfterTheThreadHasSaidThatItIsInside) {
  DirectCalls calls;
  calls.grant(kComm, {.nonblocking = 1, .blocking = 1});
  bool seen = false;
  EXPECT_FALSE(calls.begin_blocking(kComm, [&] {
    calls.end_grant();
    seen = calls.inside(kComm);
  }));
  EXPECT_TRUE(seen);
  EXPECT_FALSE(calls.inside(kComm));
  EXPECT_EQ(calls.settle().blocking, 0u);
}

}  // namespace
}  // namespace hob::match
