// A get in the cache's terms.
#pragma once

#include <cstdint>

#include "cache/cache.hpp"
#include "mpi/datatype/layouts.hpp"
#include "mpi/rma/backend/op.hpp"
#include "mpi/rma/cache/terms.hpp"

namespace hob::mpi {

using layout::one_block;

/// An rma::Op that only reads: MPI_Get, or MPI_Get_accumulate with MPI_NO_OP.
using Get = rma::Op;

/// A get that may be looked up.
struct CacheableGet {
  const Layout* remote = nullptr;  ///< null: the get is left to the library
  const Layout* origin = nullptr;
  cache::Key key{};
  std::uint64_t size = 0;
  bool contiguous = false;  ///< at the target
  /// Large, and of those that do not come back: it is looked up only since recall records it.
  bool only_recorded = false;

  /// Distance from the lowest byte read at the target to the highest, plus 1.
  std::uint64_t extent(const Get& get) const {
    return static_cast<std::uint64_t>(remote->highest(get.target_count) - remote->low);
  }
  bool contiguous_at_origin(const Get& get) const { return one_block(*origin, get.result.count); }
  std::byte* first_byte(const Get& get) const {
    return static_cast<std::byte*>(get.result.address) + origin->low;
  }
};

/// Such a get after its look-up, which found `hit`.
struct LookedUp {
  const Get& get;
  TargetState& target;
  const CacheableGet& wanted;
  const cache::Lookup& hit;
};

}  // namespace hob::mpi
