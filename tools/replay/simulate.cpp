#include "simulate.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

#include "cache/hash.hpp"

namespace hob::replay {
namespace {

using report::TraceKind;
using report::TraceRecord;

struct WindowKey {
  std::uint16_t window;
  cache::Key key;
  friend bool operator==(const WindowKey&, const WindowKey&) = default;
};
struct WindowKeyHash {
  std::size_t operator()(const WindowKey& k) const {
    return static_cast<std::size_t>(cache::mix(cache::hash_key(k.key), k.window));
  }
};

WindowKey key_of(const TraceRecord& r) { return {r.window, {r.target, r.displacement, r.layout}}; }

/// Per window: distinct keys and bytes.
struct Footprint {
  std::uint64_t distinct = 0;
  std::uint64_t bytes = 0;
};

std::map<std::uint16_t, Footprint> footprints(const std::vector<TraceRecord>& records) {
  std::unordered_map<WindowKey, std::uint64_t, WindowKeyHash> longest;
  std::map<std::uint16_t, Footprint> result;
  for (const TraceRecord& r : records) {
    if (r.kind != TraceKind::get || r.size == 0) continue;
    const auto [it, fresh] = longest.try_emplace(key_of(r), 0);
    Footprint& f = result[r.window];
    f.distinct += fresh ? 1 : 0;
    if (r.size > it->second) {
      f.bytes += r.size - it->second;
      it->second = r.size;
    }
  }
  return result;
}

/// Entries that `bytes` hold at most, if they are as long as those of the trace on average.
std::uint64_t slots_for(const Footprint& f, std::uint64_t bytes) {
  const double average =
      static_cast<double>(f.bytes) / static_cast<double>(std::max<std::uint64_t>(f.distinct, 1));
  const double held = static_cast<double>(bytes) / std::max(average, 1.0);
  return std::max<std::uint64_t>(64, static_cast<std::uint64_t>(1.5 * held));
}

std::uint64_t share_of(std::uint64_t bytes, std::uint64_t part, std::uint64_t whole) {
  const auto share =
      static_cast<std::uint64_t>(static_cast<double>(bytes) * static_cast<double>(part) /
                                 static_cast<double>(std::max<std::uint64_t>(whole, 1)));
  return std::max<std::uint64_t>(share, 64);
}

Outcome run(const std::vector<TraceRecord>& records,
            std::map<std::uint16_t, std::unique_ptr<cache::Cache>>& caches,
            const Latency& latency) {
  Outcome outcome;
  for (const TraceRecord& r : records) {
    const auto found_cache = caches.find(r.window);
    if (found_cache == caches.end()) continue;
    cache::Cache& cache = *found_cache->second;
    const cache::Key key{r.target, r.displacement, r.layout};
    switch (r.kind) {
      case TraceKind::drop_all:
        cache.drop_all();
        continue;
      case TraceKind::drop_target:
        cache.drop_target(r.target);
        continue;
      case TraceKind::drop_range:
        cache.drop_range(r.target, r.displacement, r.size);
        continue;
      case TraceKind::get:
        break;
    }
    if (r.size == 0) continue;
    ++outcome.gets;
    outcome.native_us += latency.of(r.size);
    const cache::Lookup found = cache.find(key, r.size);
    switch (found.kind) {
      case cache::Hit::full:
      case cache::Hit::pending_full:
        ++outcome.hits;
        break;
      case cache::Hit::partial:
        outcome.network_us += latency.of(r.size - found.available);
        if (cache.extend(found.entry, r.size, {r.extent, 0})) cache.complete(found.entry);
        break;
      case cache::Hit::pending_partial:
      case cache::Hit::missing: {
        outcome.network_us += latency.of(r.size);
        const cache::Reservation place = cache.reserve(key, r.size, {r.extent, 0});
        if (place.entry) cache.complete(place.entry);
        break;
      }
    }
  }
  for (const auto& [window, cache] : caches) outcome.slots += cache->index_slots();
  return outcome;
}

Outcome replay_with(const std::vector<TraceRecord>& records, cache::Config config,
                    std::uint64_t bytes, const Latency& latency, double slots_factor) {
  const auto parts = footprints(records);
  std::uint64_t whole = 0;
  for (const auto& [window, f] : parts) whole += f.bytes;
  std::map<std::uint16_t, std::unique_ptr<cache::Cache>> caches;
  for (const auto& [window, f] : parts) {
    config.adaptation.enabled = false;
    config.storage_bytes = share_of(bytes, f.bytes, whole);
    config.adaptation.max_storage_bytes = config.storage_bytes;
    const std::uint64_t slots =
        slots_factor == 0
            ? f.distinct + f.distinct / 2
            : static_cast<std::uint64_t>(slots_factor *
                                         static_cast<double>(slots_for(f, config.storage_bytes)));
    config.index_slots = config.adaptation.max_index_slots = std::max<std::uint64_t>(slots, 64);
    config.latency_bytes = latency.bytes();
    caches[window] = cache::Cache::create(config);
  }
  return run(records, caches, latency);
}

}  // namespace

Shape shape_of(const std::vector<TraceRecord>& records) {
  Shape shape;
  for (const TraceRecord& r : records) shape.gets += r.kind == TraceKind::get && r.size > 0 ? 1 : 0;
  for (const auto& [window, f] : footprints(records)) {
    shape.distinct += f.distinct;
    shape.footprint_bytes += f.bytes;
    ++shape.windows;
  }
  return shape;
}

Outcome replay(const std::vector<TraceRecord>& records, cache::Config config, std::uint64_t bytes,
               const Latency& latency) {
  return replay_with(records, config, bytes, latency, 0);
}

Outcome replay_tuned(const std::vector<TraceRecord>& records, const cache::Config& config,
                     std::uint64_t bytes, const Latency& latency) {
  Outcome best = replay_with(records, config, bytes, latency, 0);
  for (const double factor : {1.0, 2.0, 4.0}) {
    const Outcome other = replay_with(records, config, bytes, latency, factor);
    if (other.network_us < best.network_us) best = other;
  }
  return best;
}

Outcome replay_blocks(const std::vector<TraceRecord>& records, std::uint64_t block_bytes,
                      std::uint64_t bytes, const Latency& latency) {
  struct Slot {
    std::uint64_t block = ~std::uint64_t{0};
    std::uint32_t target = 0;
    std::uint64_t generation = 0;
  };
  std::map<std::uint16_t, std::vector<Slot>> tables;
  std::map<std::uint16_t, std::uint64_t> generations;
  const auto parts = footprints(records);
  std::uint64_t whole = 0;
  for (const auto& [window, f] : parts) whole += f.bytes;
  for (const auto& [window, f] : parts) {
    tables[window].resize(
        std::max<std::uint64_t>(1, share_of(bytes, f.bytes, whole) / block_bytes));
    generations[window] = 1;
  }
  Outcome outcome;
  for (const TraceRecord& r : records) {
    const auto table_found = tables.find(r.window);
    if (table_found == tables.end()) continue;
    std::vector<Slot>& table = table_found->second;
    if (r.kind == TraceKind::drop_all) {
      ++generations[r.window];
      continue;
    }
    if (r.kind == TraceKind::drop_target) {
      for (Slot& slot : table)
        if (slot.target == r.target) slot.generation = 0;
      continue;
    }
    if (r.size == 0) continue;
    // The bytes between the first and the last one that is read: a block cache fetches gaps too.
    const std::uint64_t extent = std::max(r.kind == TraceKind::get ? r.extent : 0, r.size);
    const std::uint64_t first = r.displacement / block_bytes;
    const std::uint64_t last = (r.displacement + extent - 1) / block_bytes;
    bool all = true;
    std::uint64_t missing = 0;
    const auto fetch = [&] {
      outcome.network_us += latency.of(missing * block_bytes);
      missing = 0;
    };
    for (std::uint64_t block = first; block <= last; ++block) {
      Slot& slot = table[(block + r.target * std::uint64_t{40503}) % table.size()];
      const bool here = slot.block == block && slot.target == r.target &&
                        slot.generation == generations[r.window];
      if (r.kind == TraceKind::drop_range) {
        if (here) slot.generation = 0;
        continue;
      }
      if (here) {
        fetch();
        continue;
      }
      all = false;
      ++missing;
      slot = {block, r.target, generations[r.window]};
    }
    if (r.kind != TraceKind::get) continue;
    fetch();
    ++outcome.gets;
    outcome.hits += all ? 1 : 0;
    outcome.native_us += latency.of(r.size);
  }
  return outcome;
}

Outcome bound(const std::vector<TraceRecord>& records, std::uint64_t bytes,
              const Latency& latency) {
  struct Last {
    std::uint64_t time;
    std::uint64_t size;
    std::uint64_t generation;
  };
  struct Interval {
    double saved;
    double cost;  ///< bytes x gets
    bool full;
  };
  std::unordered_map<WindowKey, Last, WindowKeyHash> last;
  std::vector<Interval> intervals;
  std::uint64_t generation = 0;
  Outcome outcome;
  for (const TraceRecord& r : records) {
    if (r.kind == TraceKind::drop_all) ++generation;
    if (r.kind != TraceKind::get || r.size == 0) continue;
    const std::uint64_t now = outcome.gets++;
    outcome.native_us += latency.of(r.size);
    const auto [it, fresh] = last.try_emplace(key_of(r), Last{now, r.size, generation});
    if (fresh) continue;
    Last& before = it->second;
    if (before.generation == generation) {
      const std::uint64_t kept = std::min(before.size, r.size);
      intervals.push_back({latency.of(r.size) - latency.of(r.size - kept),
                           static_cast<double>(kept) * static_cast<double>(now - before.time),
                           kept == r.size});
    }
    before = {now, before.generation == generation ? std::max(before.size, r.size) : r.size,
              generation};
  }
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
    return a.saved * b.cost > b.saved * a.cost;
  });
  double room = static_cast<double>(bytes) * static_cast<double>(outcome.gets);
  outcome.network_us = outcome.native_us;
  for (const Interval& i : intervals) {
    const double part = i.cost <= room ? 1 : room / i.cost;
    outcome.network_us -= part * i.saved;
    if (part < 1) break;
    outcome.hits += i.full ? 1 : 0;
    room -= i.cost;
  }
  return outcome;
}

}  // namespace hob::replay
