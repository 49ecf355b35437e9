// Levels of what Hob says, and what a line looks like.
#include "base/log.hpp"

#include <gtest/gtest.h>

namespace hob::log {
namespace {

class Log : public ::testing::Test {
 protected:
  void TearDown() override {
    output.limit = Level::warn;
    set_rank(-1);
  }
  static std::string said_by(void (*speak)()) {
    ::testing::internal::CaptureStderr();
    speak();
    return ::testing::internal::GetCapturedStderr();
  }
};

TEST_F(Log, WordsAreThoseOfTheSetting) {
  EXPECT_EQ(parse_level("off"), Level::off);
  EXPECT_EQ(parse_level("trace"), Level::trace);
  EXPECT_EQ(parse_level("loud"), std::nullopt);
}

TEST_F(Log, ALevelIncludesThoseBeforeIt) {
  output.limit = Level::info;
  EXPECT_TRUE(on(Level::warn));
  EXPECT_TRUE(on(Level::info));
  EXPECT_FALSE(on(Level::debug));
  output.limit = Level::off;
  EXPECT_FALSE(on(Level::warn));
}

TEST_F(Log, ALineSaysRankAndLevel) {
  output.limit = Level::debug;
  set_rank(3);
  EXPECT_EQ(said_by([] { line(Level::debug, "window {} is {}", 1, "bypassed"); }),
            "hob: [rank 3] debug: window 1 is bypassed\n");
  set_rank(-1);
  EXPECT_EQ(said_by([] { write(Level::warn, "text"); }), "hob: warn: text\n");
}

TEST_F(Log, WhatIsOffIsNotWritten) {
  EXPECT_EQ(said_by([] { line(Level::trace, "{}", "unseen"); }), "");
}

}  // namespace
}  // namespace hob::log
