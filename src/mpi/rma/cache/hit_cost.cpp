#include "mpi/rma/cache/hit_cost.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/clock.hpp"
#include "cache/cache.hpp"
#include "mpi/core/tuning.hpp"

namespace hob::mpi {

const HitCost& hit_cost() {
  static HitCost cost = [] {
    constexpr std::uint32_t kEntries = 64;
    constexpr std::uint64_t kSmall = 64, kLarge = 4096;
    static std::byte bytes[kLarge];
    HitCost result{tuning::gets::kWrapperNs * ticks_per_nanosecond(), 0.1};
    auto probe = cache::Cache::create({});
    if (!probe) return result;
    for (std::uint32_t i = 0; i < kEntries; ++i) {
      const cache::Key key{0, i * kLarge, 0};
      probe->find(key, kLarge);
      if (const auto place = probe->reserve(key, kLarge); place.entry)
        probe->fill(place.entry, bytes, kLarge);
    }
    const auto best = [&](std::uint64_t size) {
      std::uint64_t least = ~std::uint64_t{0};
      for (int round = 0; round < 8; ++round) {
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
    result.ticks += small;
    result.ticks_per_byte =
        std::max(0.0, best(kLarge) - small) / static_cast<double>(kLarge - kSmall);
    return result;
  }();
  return cost;
}

}  // namespace hob::mpi
