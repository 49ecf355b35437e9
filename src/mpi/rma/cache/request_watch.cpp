#include "mpi/rma/cache/request_watch.hpp"

#include <mutex>
#include <new>

namespace hob::mpi {

void RequestWatch::watch(MPI_Request request, std::uint64_t cookie) {
  join();
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

void RequestWatch::asked(std::uint64_t cookie) {
  const std::lock_guard guard(lock_);
  if (owner_) owner_->request_asked(cookie);
}

bool RequestWatch::arrived(std::uint64_t cookie, int& error) {
  const std::lock_guard guard(lock_);
  return !owner_ || owner_->request_arrived(cookie, error);
}

void RequestWatch::complete(std::uint64_t cookie) {
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const std::lock_guard guard(lock_);
    if (!owner_) return;
    owner_->request_asked(cookie);
    request = owner_->request_of(cookie);
  }
  if (request == MPI_REQUEST_NULL) return;
  Operation* const operation = requests::find(request);
  if (operation && operation->completed_by_wait) operation->complete();
}

void RequestWatch::end() {
  {
    const std::lock_guard guard(lock_);
    owner_ = nullptr;
  }
  leave();
}

RequestedGet& RequestedGet::begin(RequestWatch& watch, const std::array<std::uint64_t, 2>& cookies,
                                  MPI_Request& request) {
  return added(new RequestedGet(watch, cookies), request);
}

void RequestedGet::complete() {
  for (const std::uint64_t cookie : cookies_)
    if (cookie != 0) watch_.complete(cookie);
}

bool RequestedGet::ready() {
  for (std::uint64_t& cookie : cookies_) {
    if (cookie == 0) continue;
    int error = MPI_SUCCESS;
    if (!watch_.arrived(cookie, error)) return false;
    cookie = 0;
    if (error != MPI_SUCCESS) error_ = error;
  }
  return true;
}

}  // namespace hob::mpi
