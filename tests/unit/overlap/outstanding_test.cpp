#include "overlap/outstanding.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "base/random.hpp"

namespace hob::overlap {
namespace {

TEST(Outstanding, AddsAndRemoves) {
  Outstanding set;
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.remove(7));
  set.add(7);
  set.add(7);
  EXPECT_EQ(set.size(), 1u);
  EXPECT_TRUE(set.contains(7));
  EXPECT_TRUE(set.remove(7));
  EXPECT_FALSE(set.remove(7));
  set.add(0);
  EXPECT_TRUE(set.empty());
}

TEST(Outstanding, SaysWhetherAnyForbids) {
  Outstanding set;
  set.add(1, true);
  set.add(2);
  EXPECT_TRUE(set.forbidding());
  set.add(1, true);
  set.remove(1);
  EXPECT_FALSE(set.forbidding());
  set.add(2, true);
  EXPECT_TRUE(set.forbidding());
  set.add(2);
  EXPECT_FALSE(set.forbidding());
}

TEST(Outstanding, AsksUntilAllAreComplete) {
  Outstanding set;
  std::map<std::uintptr_t, bool> complete;
  std::size_t asked = 0;
  const auto all_complete = [&] {
    return set.all_complete([&](std::uintptr_t handle) {
      ++asked;
      return complete.at(handle);
    });
  };
  EXPECT_TRUE(all_complete());
  for (std::uintptr_t handle = 1; handle <= 100; ++handle) {
    set.add(handle);
    complete[handle] = false;
  }
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(all_complete());
  EXPECT_EQ(asked, 5u);  // only the first one
  for (auto& [handle, is] : complete) is = handle != 50;
  EXPECT_FALSE(all_complete());
  EXPECT_FALSE(all_complete());
  EXPECT_LE(asked, 5 + 102u);
  complete[50] = true;
  EXPECT_TRUE(all_complete());
  EXPECT_LE(asked, 5 + 102 + 100u);
  asked = 0;
  EXPECT_TRUE(all_complete());
  EXPECT_EQ(asked, 0u);
  // The same handle again is another request.
  set.add(7);
  complete[7] = false;
  EXPECT_FALSE(all_complete());
  set.remove(7);
  EXPECT_TRUE(all_complete());
  for (std::uintptr_t handle = 1; handle <= 100; ++handle) set.remove(handle);
  EXPECT_TRUE(all_complete());
  set.add(3);
  complete[3] = false;
  EXPECT_FALSE(all_complete());
}

TEST(Outstanding, TellsApartThoseThatHadTheSameHandle) {
  Outstanding set;
  EXPECT_EQ(set.serial(3), 0u);
  set.add(3);
  const std::uint64_t first = set.serial(3);
  EXPECT_NE(first, 0u);
  set.add(4);
  EXPECT_EQ(set.serial(3), first);
  set.add(3);
  EXPECT_NE(set.serial(3), first);
  set.remove(3);
  EXPECT_EQ(set.serial(3), 0u);
}

TEST(Outstanding, IsWhatAMapIs) {
  Outstanding set;
  std::map<std::uintptr_t, bool> model;
  Random random(11);
  for (int i = 0; i < 200'000; ++i) {
    // Few handles, as libraries have: they meet in the table, and come again.
    const auto handle = 0x98000000u + 8 * random.below(i < 100'000 ? 3000 : 40);
    if (random.below(2) != 0) {
      const bool forbids = random.below(16) == 0;
      set.add(handle, forbids);
      model[handle] = forbids;
    } else {
      EXPECT_EQ(set.remove(handle), model.erase(handle) == 1);
    }
    ASSERT_EQ(set.size(), model.size());
  }
  bool forbidding = false;
  for (const auto& [handle, forbids] : model) {
    EXPECT_TRUE(set.contains(handle));
    EXPECT_EQ(set.forbids(handle), forbids);
    forbidding |= forbids;
  }
  EXPECT_EQ(set.forbidding(), forbidding);
}

}  // namespace
}  // namespace hob::overlap
