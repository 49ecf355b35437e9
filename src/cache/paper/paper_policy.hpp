#pragma once

// The paper's eviction (III-D): M consecutive slots of I_w from a random one on, more until one is
// not empty; the victim is the entry with the lowest score; one victim for each access, then it
// gives up.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "cache/entry.hpp"
#include "cache/hash.hpp"
#include "cache/policy.hpp"

namespace hob::cache {

class PaperPolicy : public PolicyDefaults {
 public:
  explicit PaperPolicy(const Config& config)
      : policy_(config.policy), sample_(config.sample), random_(config.seed ^ 0x5eed) {}

  /// Conflicts evict; the index grows only by adaptation, as in the paper.
  static constexpr bool kEagerIndex = false;
  /// After a conflict's eviction, space is not evicted for as well.
  static constexpr bool kOneEviction = true;

  void on_get(std::uint64_t size) {
    sizes_ += size;
    ++gets_;
  }
  template <class CacheEngine>
  void on_hit(CacheEngine& engine, std::uint32_t e) {
    engine.entry(e).last = engine.now();
  }
  template <class CacheEngine>
  void on_insert(CacheEngine& engine, std::uint32_t e, std::uint64_t) {
    engine.entry(e).last = engine.now();
  }
  template <class CacheEngine>
  void on_remove(CacheEngine&, std::uint32_t, bool) {}

  /// Evicts one entry, whatever it frees; false if there is none to evict.
  template <class CacheEngine>
  bool make_room(CacheEngine& engine, std::uint64_t) {
    const std::uint32_t victim = select(engine);
    if (victim == kNone) return false;
    engine.evict(victim);
    return true;
  }

  /// Whoever of an insertion path has the lowest score, pending ones excepted; or `kNone`.
  template <class CacheEngine>
  std::uint32_t choose(CacheEngine& engine, std::span<const std::uint32_t> candidates) {
    std::uint32_t victim = kNone;
    double lowest = 0;
    for (const std::uint32_t e : candidates) consider(engine, e, victim, lowest);
    return victim;
  }

  /// R = R_P x R_T, or one of the factors.
  template <class CacheEngine>
  double score(CacheEngine& engine, std::uint32_t e) const {
    const double temporal = static_cast<double>(engine.entry(e).last) /
                            static_cast<double>(std::max<std::uint64_t>(engine.now(), 1));
    if (policy_ == Policy::temporal) return temporal;
    const double ags = gets_ == 0 ? 1 : static_cast<double>(sizes_) / static_cast<double>(gets_);
    const auto adjacent = static_cast<double>(engine.adjacent_free(e));
    const double positional = std::min(std::abs(ags - adjacent) / std::max(ags, 1.0), 1.0);
    return policy_ == Policy::positional ? positional : positional * temporal;
  }

 private:
  template <class CacheEngine>
  void consider(CacheEngine& engine, std::uint32_t e, std::uint32_t& victim, double& lowest) {
    const bool live = engine.live(e);
    if (live && engine.entry(e).pending()) return;
    const double s = live ? score(engine, e) : -1;
    if (victim != kNone && s >= lowest) return;
    victim = e;
    lowest = s;
  }

  template <class CacheEngine>
  std::uint32_t select(CacheEngine& engine) {
    const std::uint64_t slots = engine.slots();
    std::uint64_t i = random_.below(slots);
    std::uint32_t victim = kNone;
    double lowest = 0;
    std::uint64_t visited = 0;
    std::uint64_t nonempty = 0;
    while (visited < slots && (visited < sample_ || victim == kNone)) {
      if (const std::uint32_t e = engine.at_slot(i); e != kNone) {
        ++nonempty;
        consider(engine, e, victim, lowest);
      }
      ++visited;
      if (++i == slots) i = 0;
    }
    engine.count_selection(visited, nonempty);
    return victim;
  }

  Policy policy_;
  std::uint32_t sample_;
  Random random_;
  std::uint64_t sizes_ = 0;  ///< C_w.ags = sizes / gets
  std::uint64_t gets_ = 0;
};

}  // namespace hob::cache
