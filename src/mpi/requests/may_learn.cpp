#include "mpi/requests/may_learn.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>

#include "mpi/requests/known.hpp"

namespace hob::mpi::requests {
namespace {

/// Under the registry's lock.
bool is_acquire(MPI_Request handle) {
  if (is_prebuilt(handle) || state.inactive.has(handle)) return false;
  const KnownHandle* const entry = known(handle);
  if (!entry) return true;
  if (entry->operation) return entry->operation->active() && entry->operation->is_acquire();
  return !entry->observer || entry->observer->is_acquire();
}

}  // namespace

void Inactive::add(MPI_Request handle) {
  if (has(handle)) return;
  if (number_ == kMost) number_ = 0;
  handles_[static_cast<std::size_t>(number_++)] = handle;
}

bool Inactive::has(MPI_Request handle) const {
  return std::find(handles_.begin(), handles_.begin() + number_, handle) !=
         handles_.begin() + number_;
}

void MayLearn::look(int count, const MPI_Request* handles, bool one_by_one) {
  const std::lock_guard guard(registry().lock);
  if (one_by_one && count <= 64 && !none_alive()) {
    places_ = std::max(count, 0);
    for (int i = 0; i < places_; ++i)
      if (is_acquire(handles[i])) bits_ |= std::uint64_t{1} << i;
    any_ = bits_ != 0;
    return;
  }
  for (int i = 0; i < count && !any_; ++i) any_ = is_acquire(handles[i]);
}

}  // namespace hob::mpi::requests
