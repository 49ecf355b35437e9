#include "ghost/absence.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace hob::ghost {
namespace {

using Round = Absence::Round;

TEST(Absence, IsShownAtBothEndsOfWhatIsMoved) {
  const auto memory = std::make_unique<Absence>();
  const Round round{3, 2048, 0};
  memory->show(round, round.number);
  EXPECT_TRUE(Absence::is_marked(memory->shown.data(), round));
  EXPECT_FALSE(Absence::is_marked(memory->shown.data(), {2, 2048, 0})) << "another round";
  EXPECT_FALSE(Absence::is_marked(memory->shown.data(), {3, Absence::kBytes, 0}));
  memory->show(round, 0);
  EXPECT_FALSE(Absence::is_marked(memory->shown.data(), round));
}

TEST(Absence, APutHasArrivedWhenAllOfItHas) {
  const auto memory = std::make_unique<Absence>();
  const auto put = std::make_unique<Absence>();
  const Round round{1, Absence::kBytes, 0};
  Absence::mark(put->written.data(), round, round.number);
  EXPECT_FALSE(memory->arrived(round));
  std::memcpy(memory->written.data(), put->written.data(), round.bytes / 2);
  EXPECT_FALSE(memory->arrived(round));
  std::memcpy(memory->written.data(), put->written.data(), round.bytes);
  EXPECT_TRUE(memory->arrived(round));
}

TEST(Absence, OneWordIsBothEnds) {
  const auto memory = std::make_unique<Absence>();
  const Round round{7, 8, 0};
  memory->show(round, round.number);
  EXPECT_TRUE(Absence::is_marked(memory->shown.data(), round));
  EXPECT_EQ(memory->shown[8], std::byte{0});
}

}  // namespace
}  // namespace hob::ghost
