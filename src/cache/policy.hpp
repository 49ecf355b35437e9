#pragma once

// What an eviction policy must have, and what it may ask of the engine that it works for.

#include <concepts>
#include <cstdint>
#include <span>

#include "cache/config.hpp"
#include "cache/entry.hpp"

namespace hob::cache {

/// What all policies may ask of the engine. Entries have numbers.
template <class E>
concept PolicyEngine = requires(E& engine, std::uint32_t e, std::uint64_t bytes) {
  { engine.entry(e) } -> std::same_as<Entry&>;
  { engine.now() } -> std::convertible_to<std::uint64_t>;
  /// Neither free nor dropped.
  { engine.live(e) } -> std::same_as<bool>;
  { engine.fits(bytes) } -> std::same_as<bool>;
  engine.evict(e);
  /// For the statistics: looked at so many places, of which so many had an entry.
  engine.count_selection(bytes, bytes);
};

/// Decides who leaves, and who is let in. Not thread safe. No function throws.
template <class P, class E>
concept EvictionPolicy = PolicyEngine<E> && std::constructible_from<P, const Config&> &&
    requires(P& policy, const P& watched, E& engine, std::uint32_t e, std::uint64_t number,
             bool yes, std::span<const std::uint32_t> candidates) {
  /// A full index grows at once, if adaptation allows it, before anything is evicted for it.
  { P::kEagerIndex } -> std::convertible_to<bool>;
  /// After a conflict's eviction, space is not evicted for as well.
  { P::kOneEviction } -> std::convertible_to<bool>;
  /// It knows which keys come back: the storage may grow between two looks.
  { P::kKnowsReuse } -> std::convertible_to<bool>;

  /// Takes memory for an index of so many slots. False: there is none, nor any from before.
  { policy.allocate(number) } -> std::same_as<bool>;
  { watched.bytes() } -> std::same_as<std::uint64_t>;
  /// All entries are gone.
  policy.clear();
  policy.set_latency_bytes(number);
  policy.set_stores_per_hit(1.0);

  /// A get of so many bytes; a hit on e.
  policy.on_get(number);
  policy.on_hit(engine, e);
  /// Room is wanted for a key of this hash and size, a block or not; it was given to e, or not.
  policy.on_reserve(engine, number, number, yes);
  policy.on_insert(engine, e, number);
  policy.on_reject(engine, number);
  /// e is about to go; whether it was evicted.
  policy.on_remove(engine, e, yes);

  /// Whether a newcomer of so many bytes is kept at all.
  { policy.admits(engine, number) } -> std::same_as<bool>;
  /// Evicts for so many bytes. False if no entry can, or should, go.
  { policy.make_room(engine, number) } -> std::same_as<bool>;
  /// Which of the candidates goes for a newcomer, or `kNone`. Never one that is pending.
  { policy.choose(engine, candidates) } -> std::same_as<std::uint32_t>;
  /// Whether a larger storage could serve more gets, by the gets since the last call.
  { policy.wants_room() } -> std::same_as<bool>;
  /// Trips that a larger storage would have spared, for the key that came last.
  { policy.trips(number) } -> std::same_as<std::uint64_t>;
  /// Whether some key came back after the get of this number.
  { watched.reuse_since(number) } -> std::same_as<bool>;
  /// The same, before everything was dropped: a copy served it or could have.
  { watched.reuse_in_time_since(number) } -> std::same_as<bool>;
};

/// The base of a policy that admits every entry and remembers none.
struct PolicyDefaults {
  static constexpr bool kKnowsReuse = false;

  bool allocate(std::uint64_t) noexcept { return true; }
  std::uint64_t bytes() const { return 0; }
  void clear() {}
  void set_latency_bytes(std::uint64_t) {}
  void set_stores_per_hit(double) {}
  void on_get(std::uint64_t) {}
  template <class CacheEngine>
  void on_reserve(CacheEngine&, std::uint64_t, std::uint64_t, bool) {}
  template <class CacheEngine>
  void on_reject(CacheEngine&, std::uint64_t) {}
  template <class CacheEngine>
  bool admits(const CacheEngine&, std::uint64_t) const {
    return true;
  }
  bool wants_room() { return true; }
  bool reuse_since(std::uint64_t) const { return true; }
  bool reuse_in_time_since(std::uint64_t) const { return true; }
  std::uint64_t trips(std::uint64_t) const { return 1; }
};

}  // namespace hob::cache
