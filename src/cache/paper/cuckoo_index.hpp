#pragma once

// The paper's index (III-C1): cuckoo hashing with p = 4 universal hash functions (Carter and
// Wegman), a bounded insertion path, and the victim of a conflict taken from that path. The path is
// walked before anything is moved, so that a failed insertion leaves no element homeless.

#include <array>
#include <cstdint>
#include <span>

#include "cache/hash.hpp"
#include "cache/lazy_memory.hpp"

namespace hob::cache {

class CuckooIndex {
 public:
  static constexpr std::uint32_t kFunctions = 4;  ///< p
  static constexpr std::uint32_t kMaxPath = 32;   ///< iterations before an insertion fails
  static constexpr std::uint32_t kNobody = 0xffffffffu;

  /// Exactly `slots` slots (at least 4), empty. False, and unchanged, if there is no memory.
  bool allocate(std::uint64_t slots, std::uint64_t seed) noexcept {
    ZeroArray<Slot> fresh;
    if (!fresh.allocate(slots < kFunctions ? kFunctions : slots)) return false;
    slots_ = std::move(fresh);
    epoch_ = 1;
    random_ = Random(seed);
    for (Function& f : hash_) f = {1 + random_.below(kPrime - 1), random_.below(kPrime)};
    return true;
  }

  std::uint64_t slots() const { return slots_.size(); }
  std::uint64_t bytes() const { return slots_.bytes(); }

  /// The entry with this hash for which equal(entry) holds, or `kNobody`.
  template <class Equal>
  std::uint32_t find(std::uint64_t hash, Equal&& equal) const {
    for (std::uint32_t i = 0; i < kFunctions; ++i) {
      const Slot& slot = slots_[position(hash, i)];
      if (slot.epoch == epoch_ && slot.entry != kNobody && equal(slot.entry)) return slot.entry;
    }
    return kNobody;
  }

  /// Walks the insertion path of a key that is not here. True if it ends at a free slot; else
  /// candidates() are the entries on it, of which one must go.
  template <class HashOf>
  bool prepare(std::uint64_t hash, HashOf&& hash_of) {
    path_length_ = 0;
    std::uint64_t homeless = hash;
    while (path_length_ < kMaxPath) {
      const std::uint64_t next = unvisited(homeless);
      if (next == kNowhere) break;
      path_[path_length_] = next;
      on_path_[path_length_++] = at(next);
      if (at(next) == kNobody) return true;
      homeless = hash_of(at(next));
    }
    return false;
  }

  /// The entries on the insertion path, the free slot at its end excluded.
  std::span<const std::uint32_t> candidates() const {
    const bool ends_free = path_length_ > 0 && on_path_[path_length_ - 1] == kNobody;
    return {on_path_.data(), path_length_ - (ends_free ? 1u : 0u)};
  }

  /// Moves the elements of the path up to its first free slot one step on and inserts `entry` in
  /// front. `set_slot(entry, slot)` gets the place of every entry concerned. False if nothing is
  /// free.
  template <class HashOf, class SetSlot>
  bool commit(std::uint64_t, std::uint32_t entry, HashOf&&, SetSlot&& set_slot) {
    std::uint32_t end = 0;
    while (end < path_length_ && at(path_[end]) != kNobody) ++end;
    if (end == path_length_) return false;
    for (std::uint32_t i = end; i > 0; --i) {
      const std::uint32_t moved = at(path_[i - 1]);
      slots_[path_[i]] = {moved, epoch_};
      set_slot(moved, static_cast<std::uint32_t>(path_[i]));
    }
    slots_[path_[0]] = {entry, epoch_};
    set_slot(entry, static_cast<std::uint32_t>(path_[0]));
    return true;
  }

  void erase(std::uint32_t slot) { slots_[slot].entry = kNobody; }

  /// Empties the index in O(1): slots of an older epoch count as empty.
  void clear() {
    if (++epoch_ != 0) return;
    for (std::uint64_t s = 0; s < slots_.size(); ++s) slots_[s] = Slot{};
    epoch_ = 1;
  }

  /// The entry in a slot, or `kNobody`.
  std::uint32_t at(std::uint64_t slot) const {
    return slots_[slot].epoch == epoch_ ? slots_[slot].entry : kNobody;
  }

  /// h_i of a key with this digest: ((a x + b) mod p) scaled to the slots, p = 2^61 - 1.
  std::uint64_t position(std::uint64_t hash, std::uint32_t i) const {
    const uint128 product = static_cast<uint128>(hash_[i].a) * (hash >> 3) + hash_[i].b;
    std::uint64_t residue =
        (static_cast<std::uint64_t>(product) & kPrime) + static_cast<std::uint64_t>(product >> 61);
    if (residue >= kPrime) residue -= kPrime;
    return static_cast<std::uint64_t>((static_cast<uint128>(residue) * slots_.size()) >> 61);
  }

 private:
  struct Slot {
    std::uint32_t entry;
    std::uint32_t epoch;  ///< another epoch than the index has: free
  };
  struct Function {
    std::uint64_t a, b;
  };
  static constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

  /// A random position of a key that is not on the path yet (the one it was driven out of is).
  std::uint64_t unvisited(std::uint64_t hash) {
    std::array<std::uint64_t, kFunctions> open;
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < kFunctions; ++i) {
      const std::uint64_t slot = position(hash, i);
      bool seen = false;
      for (std::uint32_t k = 0; k < path_length_ && !seen; ++k) seen = path_[k] == slot;
      if (!seen) open[count++] = slot;
    }
    return count == 0 ? kNowhere : open[random_.below(count)];
  }

  ZeroArray<Slot> slots_;
  std::uint32_t epoch_ = 1;
  std::array<Function, kFunctions> hash_{};
  Random random_{1};

  std::array<std::uint64_t, kMaxPath> path_{};
  std::array<std::uint32_t, kMaxPath> on_path_{};
  std::uint32_t path_length_ = 0;
};

}  // namespace hob::cache
