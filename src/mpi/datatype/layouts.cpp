#include "mpi/datatype/layouts.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

#include "base/lasting.hpp"
#include "base/two_ways.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/datatype/contents.hpp"
#include "mpi/datatype/state.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/spin.hpp"

namespace hob::mpi {
namespace {

struct Extent {
  std::int64_t lower = 0, extent = 0;
};

Extent extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  real::Type_get_extent(type, &lower, &extent);
  return {lower, extent};
}

/// Collects blocks in type-map order, merging neighbours; gives up beyond tuning::kMostBlocks.
class Flattener {
 public:
  std::vector<Block> blocks;

  bool add(std::int64_t offset, std::uint64_t bytes) {
    if (bytes == 0) return true;
    if (!blocks.empty() &&
        blocks.back().offset + static_cast<std::int64_t>(blocks.back().bytes) == offset) {
      blocks.back().bytes += bytes;
      return true;
    }
    if (blocks.size() >= tuning::kMostBlocks) return false;
    blocks.push_back({offset, bytes});
    return true;
  }

  /// `count` elements of `type` in a row at `offset`.
  bool add(MPI_Datatype type, std::int64_t offset, std::int64_t count) {
    if (count <= 0) return true;
    Flattener one;
    if (!one.flatten(type)) return false;
    return repeat(one.blocks, extent_of(type).extent, offset, count);
  }

  bool flatten(MPI_Datatype type);

 private:
  bool repeat(const std::vector<Block>& element, std::int64_t extent, std::int64_t offset,
              std::int64_t count) {
    if (element.size() == 1 && static_cast<std::int64_t>(element[0].bytes) == extent)
      return add(offset + element[0].offset, element[0].bytes * static_cast<std::uint64_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      for (const Block& block : element)
        if (!add(offset + i * extent + block.offset, block.bytes)) return false;
    return true;
  }

  bool named(MPI_Datatype type);
  bool strided(MPI_Datatype inner, std::int64_t count, std::int64_t length, std::int64_t stride);
  bool subarray(const TypeContents& contents);
};

bool Flattener::named(MPI_Datatype type) {
  int size = 0;
  MPI_Aint low = 0, extent = 0;
  real::Type_size(type, &size);
  real::Type_get_true_extent(type, &low, &extent);
  if (size == extent) return add(low, static_cast<std::uint64_t>(size));
  struct ShortInt {
    short value;
    int index;
  };
  if (type == MPI_SHORT_INT)
    return add(0, sizeof(short)) && add(offsetof(ShortInt, index), sizeof(int));
  return false;
}

bool Flattener::strided(MPI_Datatype inner, std::int64_t count, std::int64_t length,
                        std::int64_t stride) {
  Flattener row;
  if (!row.add(inner, 0, length)) return false;
  return repeat(row.blocks, stride, 0, count);
}

bool Flattener::subarray(const TypeContents& contents) {
  const auto dims = static_cast<std::size_t>(contents.integers[0]);
  const bool large = !contents.counts.empty();
  const auto value = [&](std::size_t k) {
    return large ? contents.counts[k] : contents.integers[1 + k];
  };
  const bool fortran = contents.integers.back() == MPI_ORDER_FORTRAN;
  std::int64_t stride = extent_of(contents.types[0]).extent;
  Flattener inner;
  if (!inner.flatten(contents.types[0])) return false;
  std::vector<Block> region = std::move(inner.blocks);
  for (std::size_t k = 0; k < dims; ++k) {  // from the fastest dimension to the slowest
    const std::size_t d = fortran ? k : dims - 1 - k;
    Flattener next;
    if (!next.repeat(region, stride, value(2 * dims + d) * stride, value(dims + d))) return false;
    region = std::move(next.blocks);
    stride *= value(d);
  }
  for (const Block& block : region)
    if (!add(block.offset, block.bytes)) return false;
  return true;
}

bool Flattener::flatten(MPI_Datatype type) {
  const TypeContents c(type);
  if (!c.good) return false;
  switch (c.combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
      return named(type);
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return flatten(c.types[0]);
    case MPI_COMBINER_CONTIGUOUS:
      return add(c.types[0], 0, c.argument(0));
    case MPI_COMBINER_VECTOR:
      return strided(c.types[0], c.argument(0), c.argument(1),
                     c.argument(2) * extent_of(c.types[0]).extent);
    case MPI_COMBINER_HVECTOR:
      return strided(c.types[0], c.argument(0), c.argument(1), c.address(0, 2));
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED: {
      const auto n = static_cast<std::size_t>(c.argument(0));
      const std::int64_t unit = extent_of(c.types[0]).extent;
      for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t offset =
            c.combiner == MPI_COMBINER_INDEXED ? c.argument(1 + n + i) * unit : c.address(i, 1 + n);
        if (!add(c.types[0], offset, c.argument(1 + i))) return false;
      }
      return true;
    }
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK: {
      const auto n = static_cast<std::size_t>(c.argument(0));
      const std::int64_t unit = extent_of(c.types[0]).extent;
      for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t offset =
            c.combiner == MPI_COMBINER_INDEXED_BLOCK ? c.argument(2 + i) * unit : c.address(i, 2);
        if (!add(c.types[0], offset, c.argument(1))) return false;
      }
      return true;
    }
    case MPI_COMBINER_STRUCT: {
      const auto n = static_cast<std::size_t>(c.argument(0));
      for (std::size_t i = 0; i < n; ++i)
        if (!add(c.types[i], c.address(i, 1 + n), c.argument(1 + i))) return false;
      return true;
    }
    case MPI_COMBINER_SUBARRAY:
      return subarray(c);
    default:
      return false;  // darray and what later standards add: left to the MPI library
  }
}

/// Whether the library takes this type for communication, so that it says itself what is wrong with
/// one that it does not take. MPI has no question for that: a call without effect finds out. True
/// where there is no communicator to ask with (programs of sessions alone).
bool is_committed(MPI_Datatype type) {
  const MPI_Comm comm = context().comm;
  if (type == MPI_DATATYPE_NULL || comm == MPI_COMM_NULL || TypeContents(type).predefined())
    return true;
  char nothing = 0;
  int position = 0;
  return real::Pack(&nothing, 0, type, &nothing, 1, &position, comm) == MPI_SUCCESS;
}

class Layouts {
 public:
  const Layout& get(MPI_Datatype type) {
    const std::lock_guard guard(lock_);
    Slot* const slot = slot_of(type);
    if (HOB_LIKELY(slot && slot->layout)) return *slot->layout;
    const Layout* layout = make(type);
    if (layout->usable && !is_committed(type)) return unusable_;  // asked again: it may be by then
    if (slot)
      slot->layout = layout;
    else
      slots_.put(hash(type), {.type = type, .layout = layout});
    return *layout;
  }

  /// Of a type that was read before; else null.
  const Layout* known(MPI_Datatype type) {
    const std::lock_guard guard(lock_);
    const Slot* const slot = slot_of(type);
    return slot ? slot->layout : nullptr;
  }

  /// False if it is new, and made by many arguments.
  bool worth_reading(MPI_Datatype type) {
    const std::lock_guard guard(lock_);
    if (slot_of(type)) return true;
    if (type == MPI_DATATYPE_NULL || arguments_of(type) <= tuning::kManyArguments) return true;
    slots_.put(hash(type), {.type = type, .seen_once = true});
    return false;
  }

  const Layout& unusable() const { return unusable_; }

  void forget(MPI_Datatype type) {
    const std::lock_guard guard(lock_);
    if (Slot* slot = slot_of(type)) *slot = {};
  }

  void forget_all() {
    const std::lock_guard guard(lock_);
    slots_ = {};
  }

 private:
  struct Slot {
    MPI_Datatype type{};
    const Layout* layout = nullptr;
    bool seen_once = false;  ///< and not read, then
  };

  static std::size_t hash(MPI_Datatype type) { return handle_hash(handle_bits(type), 8); }

  /// Of a type that was read, or seen; else null.
  Slot* slot_of(MPI_Datatype type) {
    return slots_.find(hash(type), [type](const Slot& slot) {
      return slot.type == type && (slot.layout || slot.seen_once);
    });
  }

  const Layout* make(MPI_Datatype type);

  Spin lock_;
  TwoWays<Slot, 256> slots_;
  std::unordered_multimap<std::uint64_t, std::unique_ptr<const Layout>> known_;
  std::size_t known_bytes_ = 0;
  std::uint64_t next_id_ = 1;
  const Layout unusable_{};
};

const Layout* Layouts::make(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return &unusable_;
  auto layout = std::make_unique<Layout>();
  Flattener flattener;
  const Extent extent = extent_of(type);
  layout->extent = extent.extent;
  if (!flattener.flatten(type)) return &unusable_;
  layout->usable = true;
  layout->blocks = std::move(flattener.blocks);
  std::uint64_t hash = static_cast<std::uint64_t>(layout->extent);
  for (std::size_t i = 0; i < layout->blocks.size(); ++i) {
    const Block& block = layout->blocks[i];
    const std::int64_t end = block.offset + static_cast<std::int64_t>(block.bytes);
    layout->size += block.bytes;
    layout->low = i == 0 ? block.offset : std::min(layout->low, block.offset);
    layout->high = i == 0 ? end : std::max(layout->high, end);
    hash = (hash ^ static_cast<std::uint64_t>(block.offset)) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ block.bytes) * 0xC2B2AE3D27D4EB4Fu;
  }
  layout->dense =
      layout->blocks.empty() ||
      (layout->blocks.size() == 1 && static_cast<std::int64_t>(layout->size) == layout->extent);
  const auto [first, last] = known_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (it->second->extent == layout->extent && it->second->blocks == layout->blocks)
      return it->second.get();
  const std::size_t bytes = sizeof(Layout) + layout->blocks.size() * sizeof(Block);
  if (known_bytes_ + bytes > tuning::kLayoutBytes) return &unusable_;
  known_bytes_ += bytes;
  if (!layout->dense) layout->id = next_id_++;
  const Layout* kept = layout.get();
  known_.emplace(hash, std::move(layout));
  return kept;
}

Layouts& layouts() { return lasting<Layouts>(); }

}  // namespace

const Layout& layout_of(MPI_Datatype type) { return layouts().get(type); }

const Layout& layout_worth_reading(MPI_Datatype type) {
  if (const Layout* const known = layouts().known(type); HOB_LIKELY(known != nullptr))
    return *known;
  return layouts().worth_reading(type) ? layouts().get(type) : layouts().unusable();
}

Layout span_of(MPI_Datatype type) {
  Layout span;
  if (type == MPI_DATATYPE_NULL) return span;
  try {
    if (const Layout& known = layout_worth_reading(type); known.usable) {
      span.low = known.low;
      span.high = known.high;
      span.extent = known.extent;
      return span;
    }
  } catch (const std::bad_alloc&) {
    // The library is asked.
  }
  MPI_Aint low = 0, bytes = 0;
  real::Type_get_true_extent(type, &low, &bytes);
  span.low = low;
  span.high = low + bytes;
  span.extent = extent_of(type).extent;
  return span;
}

void forget_layout(MPI_Datatype type) {
  layouts().forget(type);
  layouts_forgotten.fetch_add(1, std::memory_order_relaxed);
}
void forget_layouts() {
  layouts().forget_all();
  layouts_forgotten.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace hob::mpi
