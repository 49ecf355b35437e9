// The short way of gets and flushes that are like ones before, for the wrappers that take it.
#pragma once

#include <mutex>

#include "mpi/core/acquires.hpp"
#include "mpi/core/state.hpp"
#include "mpi/datatype/state.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/rma/cache/cached_gets.hpp"

namespace hob::mpi {

inline bool CachedGets::serve_again(const gets::HotLookup::Asked& get) {
  if (HOB_UNLIKELY(acquires.own_epochs_of_loads.load(std::memory_order_relaxed) != 0 ||
                   accelerator_loaded.load(std::memory_order_relaxed) ||
                   !coherence_.is_current(acquires.count.load(std::memory_order_relaxed))))
    return false;
  const gets::HotLookup::Served served =
      hot_.serve(get, layouts_forgotten.load(std::memory_order_relaxed));
  if (HOB_UNLIKELY(!served.row)) return false;
  ++stats_.gets;
  if (HOB_UNLIKELY(served.row->cheap)) learning_.served_cheaply();
  using cache::FullHit;
  if ((served.what & FullHit::kFirstInBlock) != 0 && recalls_ && recalls_->records())
    recalls_->first_hit(get.target, served.displacement, served.bytes);
  if ((served.what & FullHit::kKept) != 0) ++stats_.kept_hits;
  if (HOB_UNLIKELY(served.what & FullHit::kTagged)) recalls_->used(cache_->last_tag());
  return true;
}

inline bool CachedGets::get_again(const gets::HotLookup::Asked& get) {
  const std::lock_guard guard(lock_.without_calls());
  return serve_again(get);
}

inline bool CachedGets::flush_again(int target) {
  const std::lock_guard guard(lock_.without_calls());
  if (!hot_.flush(target)) return false;
  ++stats_.flushes;
  ++stats_.flushes_skipped;
  request_groups_.complete();
  completed_something();
  return true;
}

}  // namespace hob::mpi
