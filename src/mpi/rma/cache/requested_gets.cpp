#include "mpi/rma/cache/requested_gets.hpp"

#include <mutex>
#include <new>

namespace hob::mpi {

void RequestWatch::watch(MPI_Request request, std::uint64_t cookie) {
  references_.fetch_add(1, std::memory_order_relaxed);
  try {
    requests::watch(request, *this, cookie);
  } catch (const std::bad_alloc&) {
    completed(cookie, true);
  }
}

void RequestWatch::completed(std::uint64_t cookie, bool freed) {
  {
    const std::lock_guard guard(lock_);
    if (owner_) owner_->request_completed(cookie, freed);
  }
  leave();
}

void RequestWatch::end() {
  {
    const std::lock_guard guard(lock_);
    owner_ = nullptr;
  }
  leave();
}

}  // namespace hob::mpi
