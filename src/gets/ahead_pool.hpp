// Memory in which blocks arrive that are fetched ahead. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cache/block_fetch.hpp"
#include "cache/cache.hpp"

namespace hob::gets {

/// A place that is fetched again (src/recall), and where its bytes arrive.
struct RecalledPlace {
  static constexpr std::uint32_t kNone = 0xffffffffu;

  cache::EntryId entry;  ///< empty: there was no room, or it is not reserved yet
  std::uint64_t displacement;
  std::uint64_t bytes;
  std::uint32_t index = kNone;  ///< in the record; kNone: the program asked for it
  std::uint64_t offset = 0;     ///< in the staging memory
};

/// A get of blocks, or of places that are recalled, under way, and where its bytes arrive. They do
/// not arrive in the cache itself: an acquire may drop the blocks, and their room be given away,
/// while the network still writes.
struct AheadFetch {
  std::unique_ptr<std::byte[]> staging;
  std::uint64_t capacity = 0;
  cache::BlockFetch blocks;
  std::vector<RecalledPlace> recalled;  ///< by their displacements
  bool spans = false;                   ///< what lies between these places is fetched, too
  bool again = false;                   ///< a block that is here was fetched again, to compare
  bool aged = false;  ///< what there was is too old: the guard of bytes fetched ahead waits for it
};

/// Sorts the places of a fetch, and says where in the staging memory their bytes arrive: one after
/// the other, or as they lie from displacement `begin` on if it `spans` them.
void lay_out(AheadFetch& fetch, std::uint64_t begin);

/// Staging memory that is used again and again. Not thread safe.
class AheadPool {
 public:
  /// Null: there is no memory, or too much is under way.
  std::unique_ptr<AheadFetch> take(std::uint64_t bytes) noexcept;
  void give_back(std::unique_ptr<AheadFetch> fetch) noexcept;
  std::uint64_t memory_bytes() const { return memory_; }

 private:
  static constexpr std::uint64_t kMost = std::uint64_t{32} << 20;

  std::vector<std::unique_ptr<AheadFetch>> free_;
  std::uint64_t memory_ = 0;  ///< of all, those under way included
};

}  // namespace hob::gets
