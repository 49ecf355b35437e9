#include "simulate.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "cache/block_fetch.hpp"
#include "cache/hash.hpp"
#include "cache/readahead.hpp"
#include "recall/recall.hpp"
#include "recall/room.hpp"

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

/// One window: its cache, and what decides how much is fetched.
struct Subject {
  std::unique_ptr<cache::Cache> cache;
  std::unique_ptr<cache::Readahead> ahead;      ///< null: never more than was asked for
  std::map<std::uint32_t, std::uint64_t> ends;  ///< of what is ever read, by target
  std::unique_ptr<recall::Recall> recall;       ///< null: nothing is fetched again
};

class Run {
 public:
  Run(std::map<std::uint16_t, Subject>& subjects, const Latency& latency)
      : subjects_(subjects), latency_(latency) {}

  Outcome over(const std::vector<TraceRecord>& records) {
    for (const TraceRecord& r : records) {
      const auto found = subjects_.find(r.window);
      if (found == subjects_.end()) continue;
      if (r.kind == TraceKind::get)
        get(found->second, r);
      else
        drop(found->second, r);
    }
    for (const auto& [window, subject] : subjects_) {
      outcome_.slots += subject.cache->index_slots();
      outcome_.ahead_bytes += subject.cache->stats().ahead_bytes;
      outcome_.ahead_used_bytes += subject.cache->stats().ahead_used_bytes;
      add_searches(subject.cache->stats());
    }
    return outcome_;
  }

 private:
  void add_searches(const cache::Stats& stats) {
    outcome_.selections += stats.selections;
    outcome_.visited += stats.visited;
    outcome_.visited_nonempty += stats.visited_nonempty;
    for (const cache::Occupancy& point : stats.occupancy.points()) {
      if (point.get < stats.gets / 2) continue;
      outcome_.used_bytes += static_cast<double>(point.used);
      outcome_.storage_bytes += static_cast<double>(point.capacity);
    }
  }

  static void drop(Subject& subject, const TraceRecord& r) {
    if (r.kind == TraceKind::drop_all) {
      subject.cache->drop_all();
      if (subject.recall) subject.recall->phase_ended();
    } else if (r.kind == TraceKind::drop_target) {
      subject.cache->drop_target(r.target);
    } else {
      subject.cache->drop_range(r.target, r.displacement, r.size);
    }
    if (!subject.ahead) return;
    if (r.kind == TraceKind::drop_range)
      subject.ahead->on_drop(r.target, r.displacement, r.size);
    else
      subject.ahead->on_drop();
  }

  void get(Subject& subject, const TraceRecord& r) {
    if (r.size == 0) return;
    const cache::Key key{r.target, r.displacement, r.layout};
    ++outcome_.gets;
    outcome_.native_us += latency_.of(r.size);
    const bool watched = subject.ahead && subject.ahead->recording() && key.layout == 0;
    if (subject.recall) subject.recall->completed();
    const bool recalled = answer(subject, key, r);
    if (watched && recalled)
      subject.ahead->on_other_hit(r.target, r.displacement);
    else if (watched)
      subject.ahead->on_get(r.target, r.displacement, r.size);
  }

  /// Whether it is a hit because it was recalled.
  bool answer(Subject& subject, const cache::Key& key, const TraceRecord& r) {
    cache::Cache& cache = *subject.cache;
    const cache::Lookup found = cache.find(key, r.size);
    if (found.tag != 0 && subject.recall->used(found.tag) != 0) ++outcome_.recall_used;
    const bool first_of_block = found.block != 0 && found.consecutive <= 1;
    if (subject.recall && key.layout == 0 && found.tag == 0 && subject.recall->recording() &&
        (found.kind == cache::Hit::missing || found.kind == cache::Hit::partial || first_of_block))
      subject.recall->missed(r.target, r.displacement, r.size);
    switch (found.kind) {
      case cache::Hit::full:
      case cache::Hit::pending_full:
        ++outcome_.hits;
        return found.tag != 0;
      case cache::Hit::partial:
        trip(subject, r.size - found.available, r.size - found.available);
        if (cache.extend(found.entry, r.size, {.extent = r.extent})) cache.complete(found.entry);
        return false;
      case cache::Hit::split:
        if (found.available == r.size) {
          ++outcome_.hits;
          return false;
        }
        break;
      default:
        if (recall(subject, key, r)) return false;
        break;
    }
    if (fetch_blocks(subject, key, r.size)) return false;
    trip(subject, r.size, r.size);
    keep(cache, key, r.size, {.extent = r.extent});
    return false;
  }

  static bool keep(cache::Cache& cache, const cache::Key& key, std::uint64_t size,
                   const cache::Fetch& fetch) {
    const cache::Reservation place = cache.reserve(key, size, fetch);
    if (place.entry) cache.complete(place.entry);
    return static_cast<bool>(place.entry);
  }

  recall::Prices prices(const Subject& subject) const {
    constexpr double kScattered = 2.5;  // latencies, as the library assumes at first
    return {.latency = latency_.fixed_us,
            .issue = latency_.fixed_us,
            .batch = latency_.fixed_us / 10,
            .per_byte = 1 / latency_.bytes_per_us,
            .far_byte = 1 / latency_.bytes_per_us,
            .scattered = kScattered * latency_.fixed_us,
            .longest = subject.ahead != nullptr ? recall::Prices::kLongestStretch : 0};
  }

  /// A get that is missing, with what phases that began with it have read: one get for each target.
  bool recall(Subject& subject, const cache::Key& key, const TraceRecord& r) {
    if (!subject.recall || key.layout != 0 || !subject.recall->recording()) return false;
    recall::Recall& memory = *subject.recall;
    cache::Cache& cache = *subject.cache;
    recall::Prices price = prices(subject);
    const auto chosen = memory.choose(r.target, r.displacement, r.size, true,
                                      cache.most_storage_bytes() / 2, price);
    if (chosen.empty()) return false;
    struct Stretch {
      std::uint64_t begin, end, bytes, places;
    };
    std::map<std::uint32_t, Stretch> stretches{
        {r.target, {r.displacement, r.displacement + r.size, r.size, 1}}};
    keep(cache, key, r.size, {.extent = r.extent});
    for (const std::uint32_t index : chosen) {
      const recall::Place& place = memory.place(index);
      std::uint64_t begin = place.displacement();
      if (place.contains(r.target, r.displacement, r.size) && begin == r.displacement)
        begin += std::min(r.size, place.bytes() - 1);
      const std::uint64_t bytes = place.end() - begin;
      const cache::Key its{place.target(), begin, 0};
      if (cache.entry_of(its) || cache.in_blocks(place.target(), begin, bytes)) {
        memory.present(index);
        continue;
      }
      if (!keep(cache, its, bytes, {.tag = memory.tag(index)})) continue;
      memory.fetched(index);
      ++outcome_.recalled;
      const auto [at, added] =
          stretches.try_emplace(place.target(), Stretch{begin, place.end(), 0, 0});
      Stretch& stretch = at->second;
      stretch.begin = std::min(stretch.begin, begin);
      stretch.end = std::max(stretch.end, place.end());
      stretch.bytes += bytes;
      ++stretch.places;
    }
    for (const auto& [target, s] : stretches) {
      const bool spans = price.span_is_cheaper(s.places, s.bytes, s.end - s.begin);
      const double fixed = s.places == 1 ? latency_.fixed_us
                           : spans       ? price.span(s.bytes, s.end - s.begin)
                                         : price.scatter(s.places);
      const double cost = fixed + static_cast<double>(s.bytes) / latency_.bytes_per_us;
      if (subject.ahead && target == r.target) subject.ahead->on_trip(r.size, r.size);
      memory.spent(cost);
      ++outcome_.trips;
      outcome_.bytes += spans ? s.end - s.begin : s.bytes;
      outcome_.network_us += cost;
    }
    return true;
  }

  bool fetch_blocks(Subject& subject, const cache::Key& key, std::uint64_t size) {
    if (!subject.ahead || key.layout != 0) return false;
    cache::Cache& cache = *subject.cache;
    subject.ahead->on_hits(cache.stats().ahead_hits);
    const auto plan = subject.ahead->on_miss(
        key.target, key.displacement, size, subject.ends[key.target], {0, subject.ends[key.target]},
        cache.storage_bytes(), cache.most_storage_bytes());
    if (!plan) return false;
    const cache::BlockFetch fetch = cache::reserve_blocks(cache, plan, key, size, 0);
    if (fetch.count == 0) return false;
    trip(subject, fetch.bytes(), size);
    for (std::uint32_t k = 0; k < fetch.count; ++k) cache.complete(fetch.entries[k]);
    return true;
  }

  /// For `bytes`, of which `asked` were asked for.
  void trip(Subject& subject, std::uint64_t bytes, std::uint64_t asked) {
    if (subject.ahead) subject.ahead->on_trip(bytes, asked);
    ++outcome_.trips;
    outcome_.bytes += bytes;
    outcome_.network_us += latency_.of(bytes);
    if (subject.recall) subject.recall->spent(latency_.of(bytes));
  }

  std::map<std::uint16_t, Subject>& subjects_;
  const Latency& latency_;
  Outcome outcome_;
};

/// How many slots an index has.
struct Slots {
  double factor = 0;         ///< times what the budget can hold; 0: 1.5 times all keys
  std::uint64_t number = 0;  ///< if not 0: so many

  std::uint64_t of(const Footprint& f, std::uint64_t storage_bytes) const {
    if (number != 0) return number;
    if (factor == 0) return f.distinct + f.distinct / 2;
    return static_cast<std::uint64_t>(factor * static_cast<double>(slots_for(f, storage_bytes)));
  }
};

Outcome replay_with(const std::vector<TraceRecord>& records, cache::Config config,
                    std::uint64_t bytes, const Latency& latency, Slots index, Ahead ahead = {}) {
  const auto parts = footprints(records);
  std::uint64_t whole = 0;
  for (const auto& [window, f] : parts) whole += f.bytes;
  recall::Room room(std::uint64_t{32} << 20);  // as HOB_RECALL_MEMORY
  std::map<std::uint16_t, Subject> subjects;
  for (const auto& [window, f] : parts) {
    config.adaptation.enabled = false;
    config.storage_bytes = share_of(bytes, f.bytes, whole);
    config.adaptation.max_storage_bytes = config.storage_bytes;
    const std::uint64_t slots = index.of(f, config.storage_bytes);
    config.index_slots = config.adaptation.max_index_slots = std::max<std::uint64_t>(slots, 64);
    config.latency_bytes = latency.bytes();
    Subject& subject = subjects[window];
    subject.cache = cache::Cache::create(config);
    if (ahead.enabled)
      subject.ahead = std::make_unique<cache::Readahead>(
          cache::Readahead::Config{.fixed_bytes = ahead.fixed_bytes,
                                   .latency = latency.fixed_us,
                                   .per_byte = 1 / latency.bytes_per_us});
    if (ahead.recall)
      subject.recall = std::make_unique<recall::Recall>(recall::Recall::Config{}, room);
  }
  for (const TraceRecord& r : records)
    if (const auto found = subjects.find(r.window); found != subjects.end()) {
      std::uint64_t& end = found->second.ends[r.target];
      end = std::max(end, r.displacement + std::max(r.size, r.extent));
    }
  return Run(subjects, latency).over(records);
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
               const Latency& latency, Ahead ahead) {
  return replay_with(records, config, bytes, latency, {}, ahead);
}

Outcome replay_tuned(const std::vector<TraceRecord>& records, const cache::Config& config,
                     std::uint64_t bytes, const Latency& latency) {
  Outcome best = replay_with(records, config, bytes, latency, {});
  for (const double factor : {1.0, 2.0, 4.0}) {
    const Outcome other = replay_with(records, config, bytes, latency, {.factor = factor});
    if (other.network_us < best.network_us) best = other;
  }
  return best;
}

Outcome replay_indexed(const std::vector<TraceRecord>& records, const cache::Config& config,
                       std::uint64_t bytes, std::uint64_t slots, const Latency& latency) {
  return replay_with(records, config, bytes, latency, {.number = slots});
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
    // A cache of no block at all fetches what is asked for.
    tables[window].resize(share_of(bytes, f.bytes, whole) / block_bytes);
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
    if (table.empty()) {
      if (r.kind != TraceKind::get) continue;
      ++outcome.gets;
      ++outcome.trips;
      outcome.bytes += r.size;
      outcome.native_us += latency.of(r.size);
      outcome.network_us += latency.of(r.size);
      continue;
    }
    // The bytes between the first and the last one that is read: a block cache fetches gaps too.
    const std::uint64_t extent = std::max(r.kind == TraceKind::get ? r.extent : 0, r.size);
    const std::uint64_t first = r.displacement / block_bytes;
    const std::uint64_t last = (r.displacement + extent - 1) / block_bytes;
    bool all = true;
    std::uint64_t missing = 0;
    const auto fetch = [&] {
      if (missing != 0) ++outcome.trips;
      outcome.bytes += missing * block_bytes;
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

Outcome replay_best_blocks(const std::vector<TraceRecord>& records, std::uint64_t bytes,
                           const Latency& latency) {
  Outcome best = replay_blocks(records, 256, bytes, latency);
  for (std::uint64_t block = 512; block <= std::uint64_t{1} << 20; block *= 2) {
    const Outcome other = replay_blocks(records, block, bytes, latency);
    if (other.network_us < best.network_us) best = other;
  }
  return best;
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

Outcome bound_of_blocks(const std::vector<TraceRecord>& records, std::uint64_t block_bytes,
                        std::uint64_t bytes, const Latency& latency) {
  constexpr std::uint64_t kNever = ~std::uint64_t{0};
  const auto blocks_of = [&](const TraceRecord& r) {
    return std::pair{r.displacement / block_bytes,
                     (r.displacement + std::max(r.size, r.extent) - 1) / block_bytes};
  };
  const auto is_get = [](const TraceRecord& r) { return r.kind == TraceKind::get && r.size != 0; };
  // When each touch of a block is followed by the next one, from the end.
  std::vector<std::uint64_t> next_uses;
  std::unordered_map<WindowKey, std::uint64_t, WindowKeyHash> next;
  for (std::size_t i = records.size(); i-- > 0;) {
    const TraceRecord& r = records[i];
    if (r.kind == TraceKind::drop_all)
      std::erase_if(next, [&](const auto& use) { return use.first.window == r.window; });
    if (!is_get(r)) continue;
    const auto [first, last] = blocks_of(r);
    for (std::uint64_t number = last + 1; number-- > first;) {
      const auto [it, fresh] = next.try_emplace({r.window, {r.target, number, 0}}, kNever);
      next_uses.push_back(it->second);
      it->second = i;
    }
  }

  struct Held {
    std::uint64_t most = 0;
    std::unordered_map<WindowKey, std::uint64_t, WindowKeyHash> uses;  ///< of each block: the next
    std::set<std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>> order;  ///< by next use
  };
  const auto parts = footprints(records);
  std::uint64_t whole = 0;
  for (const auto& [window, f] : parts) whole += f.bytes;
  std::map<std::uint16_t, Held> held;
  for (const auto& [window, f] : parts)
    held[window].most = share_of(bytes, f.bytes, whole) / block_bytes;
  Outcome outcome;
  std::size_t touch = next_uses.size();
  for (const TraceRecord& r : records) {
    Held& blocks = held[r.window];
    if (r.kind == TraceKind::drop_all) {
      blocks.uses.clear();
      blocks.order.clear();
    }
    if (!is_get(r)) continue;
    ++outcome.gets;
    outcome.native_us += latency.of(r.size);
    std::uint64_t missing = 0, missed = 0;
    const auto fetch = [&] {
      outcome.trips += missing != 0 ? 1 : 0;
      outcome.bytes += missing * block_bytes;
      outcome.network_us += latency.of(missing * block_bytes);
      missing = 0;
    };
    const auto [first, last] = blocks_of(r);
    for (std::uint64_t number = first; number <= last; ++number) {
      const WindowKey key{r.window, {r.target, number, 0}};
      const std::uint64_t use = next_uses[--touch];
      const auto it = blocks.uses.find(key);
      if (it == blocks.uses.end()) {
        ++missing;
        ++missed;
      } else {
        fetch();
        blocks.order.erase({it->second, r.target, number});
        blocks.uses.erase(it);
      }
      if (use == kNever || blocks.most == 0) continue;
      blocks.uses.emplace(key, use);
      blocks.order.emplace(use, r.target, number);
      if (blocks.uses.size() <= blocks.most) continue;
      const auto farthest = std::prev(blocks.order.end());
      const auto [when, target, which] = *farthest;
      blocks.uses.erase({r.window, {target, which, 0}});
      blocks.order.erase(farthest);
    }
    fetch();
    outcome.hits += missed == 0 ? 1 : 0;
  }
  return outcome;
}

Outcome bound_of_best_blocks(const std::vector<TraceRecord>& records, std::uint64_t bytes,
                             const Latency& latency) {
  Outcome best = bound_of_blocks(records, 256, bytes, latency);
  for (std::uint64_t block = 512; block <= std::min(bytes, std::uint64_t{1} << 20); block *= 2) {
    const Outcome other = bound_of_blocks(records, block, bytes, latency);
    if (other.network_us < best.network_us) best = other;
  }
  return best;
}

}  // namespace hob::replay
