#include "mpi/requests/followed.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "mpi/requests/known.hpp"
#include "mpi/requests/single.hpp"

namespace hob::mpi::requests {

void signal(Operation& operation) { Followed::only().signal(operation); }
void end_signal(Operation& operation) { Followed::only().end_signal(operation); }
void now_active(const Operation& operation) { Followed::only().changed(operation, true); }
void now_inactive(const Operation& operation) { Followed::only().changed(operation, false); }

Followed& Followed::only() {
  static Followed& array = *new Followed;
  return array;
}

void Followed::signal(Operation& operation) {
  if (!operation.signalled.is_linked()) signalled_.push_back(operation);
}

void Followed::end_signal(Operation& operation) {
  if (!operation.signalled.is_linked()) return;
  signalled_.erase(signalled_.iterator_to(operation));
  ++ended_;
}

bool Followed::begin(int count, MPI_Request* requests) {
  if (many_threads || in_use_) return false;
  const auto places = static_cast<std::size_t>(count);
  try {
    const std::lock_guard guard(registry().lock);
    if (requests != requests_ || places != seen_.size() || changes_ != registry().changes ||
        2 * gone_ > natives_.size())
      start_anew(count, requests);
    if (std::memcmp(seen_.data(), requests, places * sizeof *requests) != 0)
      for (std::size_t i = 0; i < places; ++i)
        if (seen_[i] != requests[i]) update(i);
  } catch (const std::bad_alloc&) {
    requests_ = nullptr;
    return false;
  }
  if (polled_ != 0) return false;
  in_use_ = true;
  last_watch_ = registry().watches;
  return true;
}

void Followed::end(bool returned) {
  in_use_ = false;
  if (!returned) requests_ = nullptr;
}

void Followed::start_anew(int count, MPI_Request* requests) {
  requests_ = nullptr;
  ++number_;
  const auto places = static_cast<std::size_t>(count);
  natives_.clear();
  places_.clear();
  seen_.assign(places, MPI_REQUEST_NULL);
  kinds_.assign(places, nothing);
  gone_ = active_ = idle_ = polled_ = 0;
  changes_ = registry().changes;
  requests_ = requests;
}

/// The program has put another request there.
void Followed::update(std::size_t place) {
  vacate(place);
  const MPI_Request request = requests_[place];
  if (request == MPI_REQUEST_NULL) return;
  const KnownHandle* const entry = known(request);
  Operation* const operation = entry ? entry->operation : nullptr;
  if (!operation) {
    natives_.push_back(request);
    places_.push_back(static_cast<int>(place));
    kinds_[place] = static_cast<int>(natives_.size()) - 1;
  } else {
    operation->followed = {number_, static_cast<int>(place), request};
    kinds_[place] = !operation->is_event_driven() ? polled : operation->active() ? active : idle;
    ++count_of(kinds_[place]);
  }
  seen_[place] = request;
}

void Followed::vacate(std::size_t place) {
  const int kind = std::exchange(kinds_[place], nothing);
  seen_[place] = MPI_REQUEST_NULL;
  if (kind >= 0) {
    natives_[static_cast<std::size_t>(kind)] = MPI_REQUEST_NULL;
    ++gone_;
  } else if (kind != nothing) {
    --count_of(kind);
  }
}

/// Of one kind of Hob's operations.
std::size_t& Followed::count_of(int kind) {
  return kind == active ? active_ : kind == idle ? idle_ : polled_;
}

bool Followed::is_here(const Operation& operation) const {
  return operation.followed.array == number_ &&
         seen_[static_cast<std::size_t>(operation.followed.place)] == operation.followed.handle;
}

void Followed::changed(const Operation& operation, bool active_now) {
  if (many_threads || !is_here(operation)) return;
  int& kind = kinds_[static_cast<std::size_t>(operation.followed.place)];
  --count_of(kind);
  kind = active_now ? active : idle;
  ++count_of(kind);
}

int Followed::finish(const OwnRequest& own, MPI_Status* status) {
  if (!own.operation->persistent()) vacate(static_cast<std::size_t>(own.place));
  return requests::finish(&requests_[own.place], *own.operation, status);
}

void Followed::completed(int native) {
  const auto i = static_cast<std::size_t>(native);
  const auto place = static_cast<std::size_t>(places_[i]);
  const MPI_Request before = seen_[place];
  requests_[place] = seen_[place] = natives_[i];
  if (natives_[i] == MPI_REQUEST_NULL) vacate(place);
  notify_complete(before, last_watch_);
}

}  // namespace hob::mpi::requests
