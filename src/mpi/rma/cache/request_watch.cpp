#include "mpi/rma/cache/request_watch.hpp"

#include <memory>
#include <mutex>
#include <new>

namespace hob::mpi {
namespace {

/// Stands behind the requests of all gets that were served.
class ServedRequest final : public Operation {
 public:
  ServedRequest() { kept.wanted = kept.shared = true; }
  bool ready() override { return true; }
  int result(MPI_Status* status) override {
    requests::copy_status(requests::empty_status(), status);
    return MPI_SUCCESS;
  }
  void retire() override {}
  void abandon() override {}
  bool is_acquire() const override { return false; }
};

}  // namespace

MPI_Request served_request() {
  static ServedRequest& all = *new ServedRequest;
  return requests::add(all);
}

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

void RequestWatch::end() {
  {
    const std::lock_guard guard(lock_);
    owner_ = nullptr;
  }
  leave();
}

RequestedGet& RequestedGet::begin(RequestWatch& watch, const std::array<std::uint64_t, 2>& cookies,
                                  MPI_Request& request) {
  struct Delete {
    void operator()(RequestedGet* get) const { delete get; }
  };
  std::unique_ptr<RequestedGet, Delete> get(new RequestedGet(watch, cookies));
  request = requests::add(*get);
  return *get.release();
}

void RequestedGet::withdraw(MPI_Request& request) {
  requests::withdraw(request);
  request = MPI_REQUEST_NULL;
  delete this;
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

int RequestedGet::result(MPI_Status* status) {
  requests::copy_status(requests::empty_status(), status);
  return error_;
}

}  // namespace hob::mpi
