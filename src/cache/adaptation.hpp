#pragma once

#include <cstdint>
#include <optional>

#include "cache/config.hpp"
#include "cache/stats.hpp"

namespace hob::cache {

/// What the signals call for, at one look. At most one change of each size.
struct Verdict {
  std::optional<std::uint64_t> index_slots;
  Reason index_reason = Reason::conflicts;
  std::optional<std::uint64_t> storage_bytes;
  Reason storage_reason = Reason::capacity;
};

/// The paper's four signals (III-E1), over the gets since the last look.
class Signals {
 public:
  /// Looks at what happened since the last look and says what should change. `filling`: the
  /// storage still gains bytes, so that it does not shrink.
  Verdict look(const Adaptation& config, const Stats& now, std::uint64_t index_slots,
               std::uint64_t storage_bytes, std::uint64_t used_bytes, bool filling) {
    Verdict verdict;
    const double gets = static_cast<double>(now.gets - gets_);
    if (gets > 0) {
      const double visited = static_cast<double>(now.visited - visited_);
      const double nonempty = static_cast<double>(now.visited_nonempty - nonempty_);
      if (static_cast<double>(now.conflicting - conflicting_) / gets > config.conflict_threshold) {
        verdict.index_slots = scaled(index_slots, config.index_increase_factor,
                                     config.min_index_slots, config.max_index_slots);
        verdict.index_reason = Reason::conflicts;
      } else if (visited > 0 && nonempty / visited < config.sparsity_threshold) {
        verdict.index_slots = scaled(index_slots, 1 / config.index_decrease_factor,
                                     config.min_index_slots, config.max_index_slots);
        verdict.index_reason = Reason::sparse;
      }
      const double short_of_space =
          static_cast<double>(now.capacity + now.failing - capacity_failing_);
      const double hits = static_cast<double>(hits_of(now) - hits_);
      const double free = static_cast<double>(storage_bytes - used_bytes);
      if (short_of_space / gets > config.capacity_threshold) {
        verdict.storage_bytes = scaled(storage_bytes, config.memory_increase_factor,
                                       config.min_storage_bytes, config.max_storage_bytes);
        verdict.storage_reason = Reason::capacity;
      } else if (!filling && hits / gets > config.stable_threshold &&
                 free / static_cast<double>(storage_bytes) > config.free_threshold) {
        verdict.storage_bytes = scaled(storage_bytes, 1 / config.memory_decrease_factor,
                                       config.min_storage_bytes, config.max_storage_bytes);
        verdict.storage_reason = Reason::stable_and_free;
      }
    }
    if (verdict.index_slots == index_slots) verdict.index_slots.reset();
    if (verdict.storage_bytes == storage_bytes) verdict.storage_bytes.reset();
    restart(now);
    return verdict;
  }

  /// Begins a new interval.
  void restart(const Stats& now) {
    gets_ = now.gets;
    conflicting_ = now.conflicting;
    capacity_failing_ = now.capacity + now.failing;
    hits_ = hits_of(now);
    visited_ = now.visited;
    nonempty_ = now.visited_nonempty;
  }

 private:
  static std::uint64_t hits_of(const Stats& stats) {
    return stats.hits_full + stats.hits_pending + stats.hits_partial;
  }
  /// Never leaves [min, max], but a value outside of it is not pulled in against the factor.
  static std::uint64_t scaled(std::uint64_t value, double factor, std::uint64_t min,
                              std::uint64_t max) {
    const auto wish = static_cast<std::uint64_t>(static_cast<double>(value) * factor);
    if (factor > 1) return value >= max ? value : (wish < max ? wish : max);
    return value <= min ? value : (wish > min ? wish : min);
  }

  std::uint64_t gets_ = 0, conflicting_ = 0, capacity_failing_ = 0, hits_ = 0, visited_ = 0,
                nonempty_ = 0;
};

}  // namespace hob::cache
