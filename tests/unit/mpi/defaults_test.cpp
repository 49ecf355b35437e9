// What the cache assumes where nobody says otherwise is what users read in the table of settings.
#include <gtest/gtest.h>

#include "cache/config.hpp"
#include "settings/settings.hpp"

namespace hob {
namespace {

TEST(Defaults, OfTheCacheAreThoseOfTheSettings) {
  const settings::Settings said;
  const cache::Config assumed;
  EXPECT_EQ(said.cache_policy, cache::policy_name(assumed.policy));
  EXPECT_EQ(said.cache_size, assumed.storage_bytes);
  EXPECT_EQ(said.cache_max, assumed.adaptation.max_storage_bytes);
  EXPECT_EQ(said.cache_index, assumed.index_slots);
  EXPECT_EQ(said.cache_adapt, assumed.adaptation.enabled);
  EXPECT_EQ(said.cache_sample, assumed.sample);
  EXPECT_EQ(said.cache_conflict_threshold, assumed.adaptation.conflict_threshold);
  EXPECT_EQ(said.cache_capacity_threshold, assumed.adaptation.capacity_threshold);
  EXPECT_EQ(said.cache_sparsity_threshold, assumed.adaptation.sparsity_threshold);
  EXPECT_EQ(said.cache_stable_threshold, assumed.adaptation.stable_threshold);
  EXPECT_EQ(said.cache_free_threshold, assumed.adaptation.free_threshold);
  EXPECT_EQ(said.cache_grow, assumed.adaptation.index_increase_factor);
  EXPECT_EQ(said.cache_grow, assumed.adaptation.memory_increase_factor);
  EXPECT_EQ(said.cache_shrink, assumed.adaptation.index_decrease_factor);
  EXPECT_EQ(said.cache_shrink, assumed.adaptation.memory_decrease_factor);
}

}  // namespace
}  // namespace hob
