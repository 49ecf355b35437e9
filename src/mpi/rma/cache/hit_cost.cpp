#include "mpi/rma/cache/hit_cost.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/clock.hpp"
#include "cache/cache.hpp"
#include "mpi/core/tuning.hpp"

namespace hob::mpi {

namespace {

HitCost& cost() {
  static HitCost value{tuning::gets::kWrapperNs * ticks_per_nanosecond(), 0.1};
  return value;
}

/// By hits in a cache of its own, whose pages and tables are few.
void measure() {
  constexpr std::uint64_t kEntries = 16;
  constexpr int kRounds = 12;
  constexpr std::uint64_t kSmall = 64, kLarge = 4096;
  static std::byte bytes[kLarge];
  cache::Config config;
  config.index_slots = 4 * kEntries;
  config.storage_bytes = 2 * kEntries * kLarge;
  config.adaptation.enabled = false;
  auto probe = cache::Cache::create(config);
  if (!probe) return;
  for (std::uint64_t i = 0; i < kEntries; ++i) {
    const cache::Key key{0, i * kLarge, 0};
    probe->find(key, kLarge);
    if (const auto place = probe->reserve(key, kLarge); place.entry)
      probe->fill(place.entry, bytes, kLarge);
  }
  const auto best = [&](std::uint64_t size) {
    std::uint64_t least = ~std::uint64_t{0};
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t start = ticks();
      for (std::uint32_t i = 0; i < kEntries; ++i) {
        const cache::Lookup hit = probe->find({0, i * kLarge, 0}, size);
        if (hit.data) std::memcpy(bytes, hit.data, size);
        asm volatile("" : : "r"(bytes) : "memory");
      }
      least = std::min(least, (ticks() - start) / kEntries);
    }
    return static_cast<double>(least);
  };
  const double small = best(kSmall);
  cost().set(cost().ticks() + small,
             std::max(0.0, best(kLarge) - small) / static_cast<double>(kLarge - kSmall));
}

}  // namespace

const HitCost& hit_cost() { return cost(); }

void measure_hit_cost() { [[maybe_unused]] static const bool measured = (measure(), true); }

}  // namespace hob::mpi
