// What the cache costs by itself: a hit, each access type, dropping, and memory against targets.
//   hob-bench-cache [costs|scale] [--json FILE] [--quick]

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "cache/cache.hpp"
#include "cache/hash.hpp"
#include "result.hpp"

namespace hob::bench {
namespace {

using cache::Access;
using cache::Cache;
using cache::Config;
using cache::Hit;
using cache::Key;
using cache::Policy;

constexpr const char* usage =
    "hob-bench-cache [costs|scale] [--json FILE] [--quick]\n"
    "  costs  nanoseconds of hits, access types and drops (default)\n"
    "  scale  memory of a cache against the targets of its window, up to 1,000,000";

Config fixed(Policy policy, std::uint64_t slots, std::uint64_t bytes) {
  Config config;
  config.policy = policy;
  config.index_slots = slots;
  config.storage_bytes = bytes;
  config.adaptation.enabled = false;
  return config;
}

/// Keeps the compiler from leaving work out.
void use(const void* p) { asm volatile("" : : "r"(p) : "memory"); }

std::vector<std::uint32_t> random_order(std::uint32_t count, std::uint64_t seed) {
  cache::Random random(seed);
  std::vector<std::uint32_t> order(count);
  for (std::uint32_t& i : order) i = static_cast<std::uint32_t>(random.below(count));
  return order;
}

Key key_at(std::uint64_t i, std::uint64_t size) {
  return {static_cast<std::uint32_t>(i % 3), i * (size + 64), 0};
}

struct HitCosts {
  double copy_ns, lookup_ns, hit_ns, missing_ns;
};

HitCosts hit_costs(Policy policy, std::uint64_t size, std::uint32_t entries, bool quick) {
  const auto cache = Cache::create(fixed(policy, 2 * entries, 2 * entries * (size + 64)));
  std::vector<std::byte> data(size, std::byte{1});
  std::vector<std::byte> source(entries * ((size + 63) / 64 * 64));
  std::vector<std::byte> to(size);
  for (std::uint32_t i = 0; i < entries; ++i) {
    cache->find(key_at(i, size), size);
    const auto place = cache->reserve(key_at(i, size), size);
    if (place.entry) cache->fill(place.entry, data.data(), size);
  }
  const auto order = random_order(entries, 7);
  const int rounds = quick ? 3 : 15;
  std::vector<double> copy, lookup, hit, missing;
  const auto each = [&](std::vector<double>& times, auto&& work) {
    const double begin = thread_ns();
    for (const std::uint32_t i : order) work(i);
    times.push_back((thread_ns() - begin) / static_cast<double>(order.size()));
  };
  const std::uint64_t stride = (size + 63) / 64 * 64;
  for (int round = 0; round < rounds; ++round) {
    each(copy, [&](std::uint32_t i) {
      std::memcpy(to.data(), source.data() + i * stride, size);
      use(to.data());
    });
    each(lookup, [&](std::uint32_t i) { use(cache->find(key_at(i, size), size).data); });
    each(hit, [&](std::uint32_t i) {
      const auto found = cache->find(key_at(i, size), size);
      if (found.kind == Hit::full) std::memcpy(to.data(), found.data, size);
      use(to.data());
    });
    each(missing, [&](std::uint32_t i) {
      use(cache->find(key_at(std::uint64_t{1} << 32 | i, size), size).data);
    });
  }
  return {median(copy), median(lookup), median(hit), median(missing)};
}

/// Times of whole misses, find to fill, by access type: a working set larger than index or storage.
std::map<Access, std::vector<double>> miss_costs(Policy policy, std::uint64_t size, bool quick) {
  const std::uint32_t held =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>((8u << 20) / size, 64, 4096));
  std::map<Access, std::vector<double>> times;
  std::vector<std::byte> data(size, std::byte{1});
  double clock_ns = 1e9;
  for (int i = 0; i < 1000; ++i) {
    const double a = wall_ns();
    clock_ns = std::min(clock_ns, wall_ns() - a);
  }
  for (const bool short_of_slots : {false, true}) {
    const auto cache =
        Cache::create(fixed(policy, short_of_slots ? held / 2 : 4 * held,
                            short_of_slots ? 4 * held * (size + 64) : held * (size + 64)));
    cache::Random random(5);
    const int gets = quick ? 20000 : 120000;
    for (int i = 0; i < gets; ++i) {
      // Skewed, so that some are worth keeping and some are not.
      const double x = static_cast<double>(random.below(1u << 20)) / (1u << 20);
      const auto key = key_at(static_cast<std::uint64_t>(x * x * x * 6 * held), size);
      const double begin = wall_ns();
      const auto found = cache->find(key, size);
      if (found.kind != Hit::missing) continue;
      const auto place = cache->reserve(key, size);
      if (place.entry) cache->fill(place.entry, data.data(), size);
      times[place.access].push_back(std::max(0.0, wall_ns() - begin - clock_ns));
    }
  }
  return times;
}

const char* name_of(Access access) {
  switch (access) {
    case Access::direct:
      return "direct";
    case Access::conflicting:
      return "conflicting";
    case Access::capacity:
      return "capacity";
    case Access::failing:
      return "failing";
  }
  return "";
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

int costs(const Options& options) {
  Result result("cache");
  const std::vector<std::uint64_t> sizes =
      options.quick ? std::vector<std::uint64_t>{64, 4096}
                    : std::vector<std::uint64_t>{8, 64, 512, 1024, 4096, 16384, 65536};
  double worst_lookup = 0;
  for (const Policy policy : {Policy::standard, Policy::paper}) {
    const std::string name(policy_name(policy));
    for (const std::uint64_t size : sizes) {
      const auto entries =
          static_cast<std::uint32_t>(std::clamp<std::uint64_t>((4u << 20) / size, 64, 4096));
      const HitCosts c = hit_costs(policy, size, entries, options.quick);
      result.add({{"policy", name},
                  {"bytes", static_cast<std::int64_t>(size)},
                  {"entries", static_cast<std::int64_t>(entries)},
                  {"copy_ns", c.copy_ns},
                  {"hit_and_copy_ns", c.hit_ns},
                  {"lookup_ns", c.lookup_ns},
                  {"missing_ns", c.missing_ns}});
      if (policy == Policy::standard && size <= 1024)
        worst_lookup = std::max(worst_lookup, c.hit_ns - c.copy_ns);
    }
    for (const std::uint64_t size : sizes)
      for (const auto& [access, times] : miss_costs(policy, size, options.quick))
        result.add({{"policy", name},
                    {"bytes", static_cast<std::int64_t>(size)},
                    {"access", std::string(name_of(access))},
                    {"count", static_cast<std::int64_t>(times.size())},
                    {"median_ns", median(times)},
                    {"p99_ns", percentile(times, 0.99)}});
    for (const std::uint32_t entries : {100u, 10000u, 100000u}) {
      std::vector<double> all, target;
      for (int round = 0; round < 5; ++round) {
        const auto cache = Cache::create(fixed(policy, 2 * entries, 128 * entries));
        for (std::uint32_t i = 0; i < entries; ++i) {
          cache->find(key_at(i, 64), 64);
          const auto place = cache->reserve(key_at(i, 64), 64);
          if (place.entry) cache->complete(place.entry);
        }
        double begin = wall_ns();
        cache->drop_target(1);
        target.push_back(wall_ns() - begin);
        begin = wall_ns();
        cache->drop_all();
        all.push_back(wall_ns() - begin);
      }
      result.add({{"policy", name},
                  {"dropped_entries", static_cast<std::int64_t>(entries)},
                  {"drop_all_ns", median(all)},
                  {"drop_target_ns", median(target)}});
    }
  }
  result.limit("default: a hit costs more than its copy by ns, up to 1 KiB", worst_lookup, 35);
  return finish(result, options);
}

/// A window over `targets` ranks, of which `used` are read from, evenly spread.
std::uint64_t memory_with(std::uint64_t targets, std::uint64_t used, std::uint64_t gets) {
  const auto cache = Cache::create(Config{});
  std::vector<std::byte> data(64);
  for (std::uint64_t i = 0; i < gets; ++i) {
    const Key key{static_cast<std::uint32_t>(i % used * (targets / used)), i / used * 64, 0};
    if (cache->find(key, 64).kind != Hit::missing) continue;
    const auto place = cache->reserve(key, 64);
    if (place.entry) cache->fill(place.entry, data.data(), 64);
  }
  cache->drop_target(static_cast<std::uint32_t>(targets - 1));
  return cache->memory_bytes();
}

int scale(const Options& options) {
  Result result("cache scale");
  constexpr std::uint64_t gets = 20000;
  std::map<std::uint64_t, double> few;
  std::map<std::uint64_t, double> many;
  for (const std::uint64_t targets : {100u, 1000u, 10000u, 100000u, 1000000u}) {
    for (const std::uint64_t used : {std::uint64_t{1}, std::uint64_t{100}, std::uint64_t{10000}}) {
      if (used > targets) continue;
      const auto bytes = static_cast<double>(memory_with(targets, used, gets));
      result.add({{"targets", static_cast<std::int64_t>(targets)},
                  {"targets_used", static_cast<std::int64_t>(used)},
                  {"gets", static_cast<std::int64_t>(gets)},
                  {"memory_bytes", bytes}});
      if (used == 100) few[targets] = bytes;
      if (targets == 1000000) many[used] = bytes;
    }
    const auto idle = static_cast<double>(Cache::create(Config{})->memory_bytes());
    result.add({{"targets", static_cast<std::int64_t>(targets)},
                {"targets_used", std::int64_t{0}},
                {"gets", std::int64_t{0}},
                {"memory_bytes", idle}});
  }
  result.limit("100 targets used of 1,000,000 instead of 100: memory ratio",
               few[1000000] / few[100], 1.0);
  result.limit("10,000 targets used instead of 1, as many gets: memory ratio",
               many[10000] / many[1], 1.05);
  return finish(result, options);
}

}  // namespace
}  // namespace hob::bench

int main(int argc, char** argv) {
  using namespace hob::bench;
  std::string what = "costs";
  if (argc > 1 && argv[1][0] != '-') {
    what = argv[1];
    argv[1] = argv[0];
    --argc;
    ++argv;
  }
  const Options options = read_options(argc, argv, {}, usage);
  if (what == "costs") return costs(options);
  if (what == "scale") return scale(options);
  std::fprintf(stderr, "hob-bench-cache: %s: unknown; %s\n", what.c_str(), usage);
  return 2;
}
