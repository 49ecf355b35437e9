// Which parts a cache of each policy is made of.
#include <algorithm>
#include <new>

#include "cache/baselines/queue_policies.hpp"
#include "cache/bucket_index.hpp"
#include "cache/cache.hpp"
#include "cache/engine.hpp"
#include "cache/engine_insertion.hpp"
#include "cache/engine_lookup.hpp"
#include "cache/engine_removal.hpp"
#include "cache/engine_sizes.hpp"
#include "cache/paper/best_fit.hpp"
#include "cache/paper/cuckoo_index.hpp"
#include "cache/paper/paper_policy.hpp"
#include "cache/region_store.hpp"
#include "cache/segregated_fit.hpp"
#include "cache/value_policy.hpp"

namespace hob::cache {
namespace {

/// No processor has addresses for more.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 47;

Config clipped(Config config) {
  config.index_slots = std::clamp<std::uint64_t>(config.index_slots, 16, kNone - 1);
  config.storage_bytes = std::clamp<std::uint64_t>(config.storage_bytes, 64, kMostBytes);
  config.sample = std::clamp<std::uint32_t>(config.sample, 1, 256);
  config.latency_bytes = std::max<std::uint64_t>(config.latency_bytes, 1);
  Adaptation& a = config.adaptation;
  a.interval = std::max<std::uint64_t>(a.interval, 16);
  for (double* factor : {&a.index_increase_factor, &a.index_decrease_factor,
                         &a.memory_increase_factor, &a.memory_decrease_factor})
    *factor = std::clamp(*factor, 1.01, 64.0);
  a.max_index_slots = std::clamp<std::uint64_t>(a.max_index_slots, 16, kNone - 1);
  a.max_storage_bytes = std::clamp<std::uint64_t>(a.max_storage_bytes, 64, kMostBytes);
  a.min_index_slots = std::clamp<std::uint64_t>(a.min_index_slots, 16, a.max_index_slots);
  a.min_storage_bytes = std::clamp<std::uint64_t>(a.min_storage_bytes, 64, a.max_storage_bytes);
  return config;
}

template <class Policy>
Cache* make(const Config& config) {
  return new (std::nothrow) CacheEngine<BucketIndex, RegionStore<SegregatedFit>, Policy>(config);
}

}  // namespace

std::unique_ptr<Cache> Cache::create(const Config& wished) noexcept {
  const Config config = clipped(wished);
  switch (config.policy) {
    case Policy::standard:
      return std::unique_ptr<Cache>(make<ValuePolicy>(config));
    case Policy::paper:
    case Policy::temporal:
    case Policy::positional:
      return std::unique_ptr<Cache>(
          new (std::nothrow) CacheEngine<CuckooIndex, RegionStore<BestFit>, PaperPolicy>(config));
    case Policy::lru:
      return std::unique_ptr<Cache>(make<LruPolicy>(config));
    case Policy::sieve:
      return std::unique_ptr<Cache>(make<SievePolicy>(config));
    case Policy::s3fifo:
      return std::unique_ptr<Cache>(make<S3FifoPolicy>(config));
  }
  return nullptr;
}

}  // namespace hob::cache
