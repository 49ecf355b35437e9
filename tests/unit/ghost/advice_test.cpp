#include "ghost/advice.hpp"

#include <gtest/gtest.h>

namespace hob::ghost {
namespace {

constexpr std::uint64_t second = 1'000'000'000;

std::string only(const GhostUse& use) {
  const auto sentences = advice(use);
  return sentences.size() == 1 ? sentences[0] : "";
}

bool says(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

TEST(Advice, SaysWhyGhostsDidNothing) {
  GhostUse use{1, 3, 500, {{0, 0, second}}};
  EXPECT_TRUE(says(only(use), "all ranks are on one node"));
  use.nodes = 2;
  EXPECT_TRUE(says(only(use), "own node only"));
  use.native = 20;
  EXPECT_TRUE(says(only(use), "this network does without the target's processor"));
  use.direct = use.native = 0;
  EXPECT_TRUE(says(only(use), "no operations"));
  use.windows = 0;
  EXPECT_TRUE(says(only(use), "no window"));
}

TEST(Advice, NamesTheGhosts) {
  GhostUse use{1, 0, 0, {{0, 0, second}}, "n7"};
  EXPECT_TRUE(only(use).starts_with("The ghosts did nothing"));
  use.nodes = 2;
  EXPECT_TRUE(only(use).starts_with("The ghosts on n7 did nothing"));
  use.nodes = 100;
  EXPECT_FALSE(says(only(use), "n7"));
}

TEST(Advice, TellsTooFewFromTooMany) {
  EXPECT_TRUE(says(only({2, 1, 0, {{9, second * 9 / 10, second}}}), "one more ghost"));
  EXPECT_TRUE(
      says(only({2, 1, 0, {{9, second / 20, second}, {9, second / 20, second}}}), "one ghost"));
}

TEST(Advice, IsSilentWhereNothingIsWrong) {
  EXPECT_TRUE(advice({2, 1, 0, {{9, second / 20, second}}}).empty());
  EXPECT_TRUE(advice({2, 1, 0, {{9, second / 2, second}, {9, second / 2, second}}}).empty());
  EXPECT_TRUE(advice({2, 1, 0, {}}).empty());
  EXPECT_TRUE(advice({2, 1, 0, {{9, 0, 0}}}).empty());
}

}  // namespace
}  // namespace hob::ghost
