// The heater on the memory of a matching engine that grows, shrinks and is used all the time.

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "heat/heater.hpp"
#include "match/engine.hpp"

namespace hob::heat {
namespace {

class Link final : public match::MemoryObserver {
 public:
  explicit Link(Heater& heater) : heater_(heater) {}
  void added(const void* address, std::size_t bytes) noexcept override {
    heater_.add(address, bytes);
  }
  void removed(void* address, std::size_t, void (*release)(void*)) noexcept override {
    heater_.remove(address, release);
  }

 private:
  Heater& heater_;
};

class HeatedEngine : public testing::TestWithParam<const char*> {};

TEST_P(HeatedEngine, MatchesWhileItsMemoryIsTouched) {
  static char anything;
  Heater heater({1'000, -1, false});
  ASSERT_TRUE(heater.start());
  Link link(heater);
  match::Config config = *match::parse_strategy(GetParam());
  config.observer = &link;
  std::mt19937 random(1);
  for (int round = 0; round < 8; ++round) {
    auto engine = match::make_engine(config);
    auto depth = static_cast<std::int32_t>(1 + random() % 3000);
    for (std::int32_t tag = 0; tag < depth; ++tag) engine->post({0, 1, tag}, &anything);
    EXPECT_EQ(heater.stats().region_bytes, engine->memory_bytes());
    for (std::int32_t tag = depth; tag-- > 0;) {
      ASSERT_EQ(engine->arrive({0, 1, tag}, &anything).request, &anything);
    }
  }
  EXPECT_EQ(heater.stats().regions, 0u);
}

INSTANTIATE_TEST_SUITE_P(Strategies, HeatedEngine, testing::Values("flat", "list", "lla-8"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace hob::heat
