#pragma once

// One cache C_w = (I_w, S_w) of fetched byte ranges, as the glue sees it.
//
// A get is looked up with find(). What is missing is fetched by the caller, who first asks
// reserve() for a place and later, when the fetched bytes may be read, hands them over with fill().
// In between the entry is PENDING: it is never evicted, and later gets for it learn that.
//
//     Lookup hit = cache->find(key, size);
//     if (hit.kind == Hit::full) copy(hit.data, size);
//     else if (hit.kind == Hit::missing) {
//       Reservation place = cache->reserve(key, size);
//       ... fetch ...
//       if (place.entry) cache->fill(place.entry, buffer, size);   // when the fetch is complete
//     }
//
// Nothing here throws or exits: a cache that is out of memory answers `missing` and `failing`.
// Not thread safe: the caller serialises all calls on one cache, stats() included. Different caches
// are independent.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cache/config.hpp"
#include "cache/stats.hpp"

namespace hob::cache {

/// What a get reads. Two gets with equal keys read the same bytes, the shorter one a prefix of the
/// longer one (paper III-B: same target and displacement).
struct Key {
  std::uint32_t target = 0;        ///< rank in the window's group
  std::uint64_t displacement = 0;  ///< in bytes: the lowest byte read at the target
  /// 0: contiguous bytes. block_layout(): a block (block.hpp). Else an id of the flattened target
  /// layout, which must determine every offset read (relative to displacement) and their order;
  /// only the length may differ.
  std::uint64_t layout = 0;

  friend bool operator==(const Key&, const Key&) = default;
};

/// Names an entry until it is dropped, evicted or abandoned. A name whose entry is gone stays safe
/// to use: every call with it then does nothing and says so.
struct EntryId {
  std::uint32_t index = 0;
  std::uint32_t birth = 0;  ///< 0: no entry

  explicit operator bool() const { return birth != 0; }
  friend bool operator==(const EntryId&, const EntryId&) = default;
};

/// The answer to a lookup (paper III-B1).
enum class Hit : std::uint8_t {
  missing,          ///< nothing of it is here
  full,             ///< all of it is here: copy `size` bytes from data
  partial,          ///< the first `available` bytes are here, the tail is not: see extend()
  pending_full,     ///< all of it is here or under way
  pending_partial,  ///< its first bytes are here or under way, the tail is not
  split  ///< it lies in two blocks, of which at least one is here or under way: see fragments()
};

struct Lookup {
  Hit kind = Hit::missing;
  bool contained = false;   ///< found inside an entry that starts at a lower displacement
  std::uint32_t block = 0;  ///< found inside a block of 1 << block bytes, if not 0
  bool first = false;       ///< speculative: not all of these bytes were asked for before
  /// Hits one after the other on these bytes of this entry, this one included, with no other find()
  /// in between.
  std::uint32_t consecutive = 0;
  EntryId entry{};
  std::uint64_t available = 0;      ///< leading bytes that can be read from data now
  const std::byte* data = nullptr;  ///< valid until the next call that is not const
  std::uint64_t offset = 0;   ///< where in the entry the requested bytes begin (0 unless contained)
  std::uint64_t fetched = 0;  ///< the ticks given to fill() or refresh() last; 0 while pending
  std::uint32_t cookie = 0;   ///< what the caller gave to reserve() or extend() last
  std::uint64_t tag = 0;      ///< of a speculative entry that is asked for the first time
};

/// What find_full() asks of a hit, beside that all bytes are here.
struct HitTerms {
  std::uint64_t oldest = 0;  ///< the least ticks of its fetch
  /// The least ticks of the fetch of an entry with Fetch::tag that was not asked for yet.
  std::uint64_t oldest_tagged = ~std::uint64_t{0};
  std::uint32_t longest_row = ~0u;  ///< a hit whose number in a row is a multiple of it fails
  std::uint64_t kept_at = 0;        ///< see FullHit::kept
};

struct FullHit {
  static constexpr std::uint8_t kKept = 1;          ///< fetched before HitTerms::kept_at
  static constexpr std::uint8_t kFirstInBlock = 2;  ///< in a block, and not where the last hit was
  static constexpr std::uint8_t kTagged = 4;        ///< the first one of an entry with Fetch::tag

  const std::byte* data = nullptr;  ///< valid until the next call that is not const; null: none
  std::uint8_t what = 0;            ///< any of these
};

/// Where the bytes are that a get wants from one of the two blocks it lies in.
struct Fragment {
  std::uint64_t displacement = 0;
  std::uint64_t bytes = 0;
  EntryId entry{};                  ///< empty: missing
  const std::byte* data = nullptr;  ///< null: missing or pending
  std::uint32_t cookie = 0;         ///< of the pending entry
};

/// How a missing get was treated (paper III-B2).
enum class Access : std::uint8_t { direct, conflicting, capacity, failing };

struct Reservation {
  Access access = Access::failing;
  EntryId entry{};  ///< empty if failing
};

/// What the caller knows about a get that it is about to issue.
struct Fetch {
  /// Distance from the lowest byte read to the highest one, plus 1. 0: the size (contiguous).
  std::uint64_t extent = 0;
  /// Returned by find() while the entry is pending, e.g. to find the operation under way.
  std::uint32_t cookie = 0;
  /// For blocks: what the get that led to it wants of it, [asked, asked + asked_bytes). All else is
  /// speculative.
  std::uint64_t asked = 0;
  std::uint64_t asked_bytes = 0;
  /// Not 0: this entry was not asked for yet. The first find() that hits it says so, and this. Not
  /// for blocks.
  std::uint64_t tag = 0;
};

/// One cache. Made by create(); the concrete type depends on Config::policy.
class Cache {
 public:
  /// A cache that takes no memory for entries before the first reserve(). Never null unless even
  /// its few kilobytes of state cannot be had. Values of `config` that are out of range are
  /// clipped.
  static std::unique_ptr<Cache> create(const Config& config) noexcept;

  virtual ~Cache() = default;
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // -- Lookup ------------------------------------------------------------------------------------

  /// Looks for `size` bytes at `key` and counts the get. A contiguous get that lies inside a
  /// contiguous entry with another displacement is found too (best effort, bounded work).
  /// A lookup of 0 bytes is always a full hit, and touches nothing.
  virtual Lookup find(const Key& key, std::uint64_t size) noexcept = 0;

  /// The same as find() for a get that it would find as a full hit with nothing `first` in it,
  /// `consecutive` and `fetched` as the terms say: counted likewise, in fewer steps. For all
  /// others, and now and then, no data, and nothing counted: find() is to be called.
  virtual FullHit find_full(const Key& key, std::uint64_t size, const HitTerms& terms) noexcept = 0;

  /// The tag of the last entry for which find_full() said that it has one.
  virtual std::uint64_t last_tag() const noexcept = 0;

  /// After find() said `split`, with the same arguments: the two fragments, in order.
  virtual std::array<Fragment, 2> fragments(const Key& key, std::uint64_t size) noexcept = 0;

  /// The entry of exactly this key, a block for example; empty if there is none. Not counted.
  virtual EntryId entry_of(const Key& key) noexcept = 0;

  /// Whether a block, or two side by side, has all of these bytes or will bring them. Not counted.
  virtual bool in_blocks(std::uint32_t target, std::uint64_t displacement,
                         std::uint64_t size) noexcept = 0;

  // -- Insertion ---------------------------------------------------------------------------------

  /// A place for `size` bytes that find() just said are missing; PENDING until fill() or
  /// abandon(). May evict; may fail. An entry with this key that exists already makes it fail.
  virtual Reservation reserve(const Key& key, std::uint64_t size, Fetch fetch = {}) noexcept = 0;

  /// Enlarges a partially hit entry to `size` bytes; its tail is then pending, its old bytes are
  /// still hit. False, and nothing changed, if there is no room, or the entry is gone or pending.
  virtual bool extend(EntryId entry, std::uint64_t size, Fetch fetch = {}) noexcept = 0;

  /// Copies `bytes` fetched bytes to `offset` in the entry and makes the whole entry CACHED.
  /// After extend() `offset` is the former size. `ticks`: the time of the fetch in the caller's
  /// clock. False if the entry was dropped or abandoned meanwhile (the bytes are then ignored).
  virtual bool fill(EntryId entry, const void* data, std::uint64_t bytes, std::uint64_t offset = 0,
                    std::uint64_t ticks = 0) noexcept = 0;

  /// Where a pending entry's bytes go, for callers who collect them themselves; then complete().
  /// Null if the entry is gone or not pending. Valid until the next call that is not const.
  virtual std::byte* writable(EntryId entry) noexcept = 0;

  /// Makes the entry CACHED after its bytes were written through writable(). False if it is gone.
  virtual bool complete(EntryId entry, std::uint64_t ticks = 0) noexcept = 0;

  /// Gives a pending entry up: a new one vanishes, an extended one keeps its old bytes.
  virtual void abandon(EntryId entry) noexcept = 0;

  /// Replaces `bytes` bytes of a CACHED entry by newly fetched ones, from `offset` on. True if the
  /// entry is there and the bytes differed. A block is as old as before unless all of it is
  /// replaced.
  virtual bool refresh(EntryId entry, const void* data, std::uint64_t bytes,
                       std::uint64_t offset = 0, std::uint64_t ticks = 0) noexcept = 0;

  // -- Invalidation ------------------------------------------------------------------------------

  /// Drops everything, pending entries included, in O(1).
  virtual void drop_all() noexcept = 0;

  /// Drops everything of one target, pending entries included, in O(1). With more than 4096 targets
  /// it may drop other targets' entries too.
  virtual void drop_target(std::uint32_t target) noexcept = 0;

  /// Drops every entry of `target`, pending or not, that reads any of the bytes
  /// [displacement, displacement + bytes); of noncontiguous entries, whatever lies within their
  /// extent. Very long ranges drop the whole target.
  virtual void drop_range(std::uint32_t target, std::uint64_t displacement,
                          std::uint64_t bytes) noexcept = 0;

  /// Drops every entry of `target` that reads any of the bytes [displacement, displacement +
  /// bytes), as drop_range() does, but for those that have arrived, are contiguous, and have what
  /// is at `data` there.
  virtual void drop_differing(std::uint32_t target, std::uint64_t displacement, const void* data,
                              std::uint64_t bytes) noexcept = 0;

  /// Drops one entry, pending or not.
  virtual void drop(EntryId entry) noexcept = 0;

  // -- Sizes and statistics ----------------------------------------------------------------------

  /// Changes |I_w| and |S_w|, as the adaptation does. No entry is lost but those that do not fit.
  virtual void resize(std::uint64_t index_slots, std::uint64_t storage_bytes) noexcept = 0;

  /// The fixed cost of a fetch, as the number of bytes that could be transferred in that time.
  virtual void set_latency_bytes(std::uint64_t bytes) noexcept = 0;
  /// Of large gets, how many bytes may be stored for each that a hit serves, for hits to pay for
  /// them.
  virtual void set_stores_per_hit(double stores) noexcept = 0;

  /// Whether a get since the one of that number (Stats::gets) was served or, had everything been
  /// kept, could have been. True, too, where the policy does not know.
  virtual bool reused_since(std::uint64_t get) const noexcept = 0;

  virtual std::uint64_t index_slots() const noexcept = 0;    ///< |I_w| now
  virtual std::uint64_t storage_bytes() const noexcept = 0;  ///< |S_w| now
  /// |S_w| that the adaptation may come to.
  std::uint64_t most_storage_bytes() const noexcept {
    return config_.adaptation.enabled
               ? std::max(storage_bytes(), config_.adaptation.max_storage_bytes)
               : storage_bytes();
  }
  virtual std::uint64_t used_bytes() const noexcept = 0;  ///< of S_w, paddings included
  virtual std::uint64_t entries() const noexcept = 0;     ///< pending and dropped ones included
  virtual std::uint64_t pending() const noexcept = 0;     ///< entries that cannot be evicted

  /// Memory in use by this cache: entry data, index, tables, statistics.
  virtual std::uint64_t memory_bytes() const noexcept = 0;

  const Stats& stats() const noexcept { return stats_; }

 protected:
  explicit Cache(const Config& config) : config_(config) {}

  Config config_;
  Stats stats_;
};

}  // namespace hob::cache
