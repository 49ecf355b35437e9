#include "mpi/requests/kept_array.hpp"

#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "base/lasting.hpp"

namespace hob::mpi::requests {

void signal(Operation& operation) { KeptArray::only().signal(operation); }
void end_signal(Operation& operation) { KeptArray::only().end_signal(operation); }
void now_active(const Operation& operation) { KeptArray::only().changed(operation, true); }
void now_inactive(const Operation& operation) { KeptArray::only().changed(operation, false); }

void ArrayContent::clear() {
  seen.clear();
  watches.clear();
  natives.clear();
  places.clear();
  own.clear();
  idle_places.clear();
  active = idle = 0;
}

KeptArray& KeptArray::only() { return lasting<KeptArray>(); }

void KeptArray::signal(Operation& operation) {
  if (!operation.signalled.is_linked()) signalled_.push_back(operation);
}

void KeptArray::end_signal(Operation& operation) {
  if (!operation.signalled.is_linked()) return;
  signalled_.erase(signalled_.iterator_to(operation));
  ++ended_;
}

bool KeptArray::begin(int count, const MPI_Request* requests) {
  if (many_threads || in_use_) return false;
  const auto places = static_cast<std::size_t>(count);
  try {
    const std::lock_guard guard(registry().lock);
    std::vector<MPI_Request>& seen = content_.seen;
    if (requests != requests_ || places != seen.size() || changes_ != registry().changes ||
        2 * gone_ > content_.natives.size())
      start_anew(count, requests);
    if (std::memcmp(seen.data(), requests, places * sizeof *requests) != 0)
      for (std::size_t i = 0; i < places; ++i)
        if (seen[i] != requests[i]) update(i);
  } catch (const std::bad_alloc&) {
    requests_ = nullptr;
    return false;
  }
  in_use_ = polled_ == 0;
  return in_use_;
}

void KeptArray::end(bool returned) {
  in_use_ = false;
  if (!returned) requests_ = nullptr;
}

void KeptArray::start_anew(int count, const MPI_Request* requests) {
  requests_ = nullptr;
  ++number_;
  const auto places = static_cast<std::size_t>(count);
  content_.clear();
  content_.seen.assign(places, MPI_REQUEST_NULL);
  kinds_.assign(places, nothing);
  gone_ = polled_ = 0;
  changes_ = registry().changes;
  requests_ = requests;
}

/// The program has put another request there.
void KeptArray::update(std::size_t place) {
  vacate(place);
  const MPI_Request request = requests_[place];
  if (request == MPI_REQUEST_NULL) return;
  const KnownHandle* const entry = known(request);
  Operation* const operation = entry ? entry->operation : nullptr;
  if (!operation) {
    content_.natives.push_back(request);
    content_.places.push_back(static_cast<int>(place));
    kinds_[place] = static_cast<int>(content_.natives.size()) - 1;
  } else {
    operation->kept_place = {number_, static_cast<int>(place), request};
    kinds_[place] = !operation->is_event_driven() ? polled : operation->active() ? active : idle;
    ++count_of(kinds_[place]);
  }
  content_.seen[place] = request;
}

void KeptArray::vacate(std::size_t place) {
  const int kind = std::exchange(kinds_[place], nothing);
  content_.seen[place] = MPI_REQUEST_NULL;
  if (kind >= 0) {
    content_.natives[static_cast<std::size_t>(kind)] = MPI_REQUEST_NULL;
    ++gone_;
  } else if (kind != nothing) {
    --count_of(kind);
  }
}

/// Of one kind of Hob's operations.
std::size_t& KeptArray::count_of(int kind) {
  return kind == active ? content_.active : kind == idle ? content_.idle : polled_;
}

bool KeptArray::is_here(const Operation& operation) const {
  return operation.kept_place.array == number_ &&
         content_.seen[static_cast<std::size_t>(operation.kept_place.place)] ==
             operation.kept_place.handle;
}

void KeptArray::changed(const Operation& operation, bool active_now) {
  if (many_threads || !is_here(operation)) return;
  int& kind = kinds_[static_cast<std::size_t>(operation.kept_place.place)];
  --count_of(kind);
  kind = active_now ? active : idle;
  ++count_of(kind);
}

}  // namespace hob::mpi::requests
