// Gets under way, and those that wait for them.
#include "gets/gets_under_way.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "gets/ahead_pool.hpp"
#include "gets/target_state.hpp"

namespace hob::gets {
namespace {

Layout bytes_layout() {
  Layout layout;
  layout.usable = layout.dense = true;
  layout.size = 1;
  layout.extent = layout.high = 1;
  layout.blocks = {{0, 1}};
  return layout;
}

class GetsUnderWayTest : public ::testing::Test {
 protected:
  std::uint32_t add(int rank = 0) {
    return gets_.add(list_, rank, {.buffer = buffer_.data(), .layout = &bytes_, .bytes = 8});
  }
  std::vector<std::uint32_t> finished_until(std::uint32_t last) {
    std::vector<std::uint32_t> births;
    gets_.finish_until(list_, last, [&](PendingGet& get) { births.push_back(get.birth); });
    return births;
  }

  const Layout bytes_ = bytes_layout();
  std::array<std::byte, 64> buffer_{};
  GetsUnderWay gets_;
  GetsUnderWay::List list_;
};

TEST_F(GetsUnderWayTest, AreNumberedInTheOrderOfIssue) {
  const std::uint32_t first = add(3);
  EXPECT_EQ(gets_[first].rank, 3);
  EXPECT_EQ(gets_[first].birth, gets_.last_birth());
  const std::uint32_t second = add();
  EXPECT_EQ(gets_[second].birth, gets_[first].birth + 1);
}

TEST_F(GetsUnderWayTest, AFlushFinishesThoseIssuedBeforeIt) {
  add();
  const std::uint32_t until = gets_.last_birth();
  add();
  EXPECT_EQ(finished_until(until), std::vector<std::uint32_t>{until});
  ASSERT_EQ(list_.size(), 1u);
  EXPECT_EQ(gets_[list_[0]].place, 0u);
  EXPECT_EQ(finished_until(gets_.last_birth()), std::vector<std::uint32_t>{until + 1});
}

TEST_F(GetsUnderWayTest, OneThatIsRemovedLeavesTheOthersInPlace) {
  const std::uint32_t first = add(), second = add(), third = add();
  gets_.remove(list_, first);
  ASSERT_EQ(list_.size(), 2u);
  for (const std::uint32_t index : {second, third}) EXPECT_EQ(list_[gets_[index].place], index);
}

TEST_F(GetsUnderWayTest, MemoryIsUsedAgain) {
  for (int i = 0; i < 100; ++i) add();
  finished_until(gets_.last_birth());
  const std::uint64_t bytes = gets_.memory_bytes();
  for (int i = 0; i < 100; ++i) add();
  EXPECT_EQ(gets_.memory_bytes(), bytes);
}

TEST_F(GetsUnderWayTest, WaitersGetTheirBytes) {
  PendingGet& get = gets_[add()];
  std::array<std::byte, 8> packed{};
  for (std::size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<std::byte>(i + 1);
  std::array<std::byte, 4> one{}, other{};
  gets_.wait_for(get, one.data(), &bytes_, 4, 0);
  gets_.wait_for(get, other.data(), &bytes_, 4, 4);
  gets_.serve_waiters(get, packed.data());
  EXPECT_EQ(one[0], std::byte{1});
  EXPECT_EQ(other[3], std::byte{8});
  EXPECT_EQ(get.waiters, PendingGet::kNone);
}

TEST_F(GetsUnderWayTest, WaitersAreServedFromABufferWithGaps) {
  Layout every_second;
  every_second.usable = true;
  every_second.size = 2;
  every_second.extent = 4;
  every_second.high = 3;
  every_second.blocks = {{0, 1}, {2, 1}};
  std::vector<std::byte> strided(4 * 5000);
  for (std::size_t i = 0; i < strided.size(); i += 2)
    strided[i] = static_cast<std::byte>(i / 2 % 251);
  const std::uint32_t index =
      gets_.add(list_, 0, {.buffer = strided.data(), .layout = &every_second, .bytes = 10'000});
  std::vector<std::byte> packed(9000);
  gets_.wait_for(gets_[index], packed.data(), &bytes_, packed.size(), 1000);
  gets_.serve_waiters(gets_[index]);
  for (std::size_t i = 0; i < packed.size(); ++i)
    ASSERT_EQ(packed[i], static_cast<std::byte>((i + 1000) % 251)) << i;
}

TEST_F(GetsUnderWayTest, ForgottenWaitersAreNotServed) {
  PendingGet& get = gets_[add()];
  std::array<std::byte, 8> packed{};
  packed.fill(std::byte{9});
  std::array<std::byte, 4> buffer{};
  gets_.wait_for(get, buffer.data(), &bytes_, 4, 0);
  gets_.forget_waiters(get);
  gets_.serve_waiters(get, packed.data());
  EXPECT_EQ(buffer[0], std::byte{0});
}

/// A process keeps one of each for every get under way, target and window: growth is to be seen.
TEST(Sizes, OfWhatIsKeptForEachGetAndTarget) {
  EXPECT_LE(sizeof(PendingGet), 152u);
  EXPECT_LE(sizeof(TargetState), 208u);
}

TEST(AheadPool, StagingIsUsedAgain) {
  AheadPool pool;
  std::unique_ptr<AheadFetch> fetch = pool.take(5000);
  ASSERT_NE(fetch, nullptr);
  EXPECT_GE(fetch->capacity, 5000u);
  const std::byte* const memory = fetch->staging.get();
  fetch->again = fetch->aged = true;
  pool.give_back(std::move(fetch));
  fetch = pool.take(4000);
  EXPECT_EQ(fetch->staging.get(), memory);
  EXPECT_FALSE(fetch->again || fetch->aged);
}

TEST(AheadPool, HasAQuota) {
  AheadPool pool;
  std::vector<std::unique_ptr<AheadFetch>> taken;
  constexpr std::uint64_t kEach = std::uint64_t{8} << 20;
  for (int i = 0; i < 4; ++i) {
    taken.push_back(pool.take(kEach));
    ASSERT_NE(taken.back(), nullptr);
  }
  EXPECT_EQ(pool.take(kEach), nullptr);
  pool.give_back(std::move(taken.back()));
  EXPECT_NE(pool.take(1), nullptr) << "what is free is given up for another size";
}

}  // namespace
}  // namespace hob::gets
