#include "mpi/requests/array.hpp"

#include <mutex>
#include <utility>

#include "mpi/requests/single.hpp"

namespace hob::mpi::requests {

void RequestArray::GiveBack::operator()(ArrayContent* content) const {
  content->clear();
  const std::lock_guard guard(registry().lock);
  content->next_free = std::exchange(registry().free_contents, content);
}

RequestArray::RequestArray(int count, MPI_Request* requests, bool repeated)
    : requests_(requests), count_(count), looked_up_(!only_watched()) {
  if (looked_up_ && repeated && count >= KeptArray::kFewest &&
      KeptArray::only().begin(count, requests)) {
    kept_ = &KeptArray::only();
    content_ = &kept_->content();
    last_watch_ = registry().watches;
    return;
  }
  const std::lock_guard guard(registry().lock);
  ArrayContent*& free = registry().free_contents;
  if (!free) free = new ArrayContent;
  borrowed_.reset(std::exchange(free, free->next_free));
  content_ = borrowed_.get();
  last_watch_ = registry().watches;
  content_->seen.assign(requests, requests + count);
  if (looked_up_ || many_threads) look_up_each();
}

/// Under the registry's lock.
void RequestArray::look_up_each() {
  if (many_threads) content_->watches.reserve(content_->seen.size());
  for (int i = 0; i < count_; ++i) {
    KnownHandle* const entry = known(requests_[i]);
    if (many_threads) content_->watches.push_back(take_watch(requests_[i], entry));
    if (!looked_up_) continue;
    Operation* const operation = entry ? entry->operation : nullptr;
    if (!operation) {
      content_->natives.push_back(requests_[i]);
      content_->places.push_back(i);
    } else if (operation->active()) {
      content_->own.push_back({i, operation});
      ++content_->active;
    } else {
      content_->idle_places.push_back(i);
      ++content_->idle;
    }
  }
}

RequestArray::~RequestArray() {
  if (kept_) kept_->end(returned_);
  for (Watch& watch : content_->watches) put_back(watch, !returned_);  // none of a kept one
}

void RequestArray::notify_failed() {
  for (int i = 0; i < count_; ++i)
    if (requests_[i] != seen(i)) notify(i, seen(i), true);
}

void RequestArray::completed(int native) {
  const int at = place(native);
  const MPI_Request before = seen(at);
  requests_[at] = native_requests()[native];
  if (kept_) {
    seen(at) = requests_[at];
    if (requests_[at] == MPI_REQUEST_NULL) kept_->vacate(static_cast<std::size_t>(at));
  }
  notify(at, before, false);
}

int RequestArray::finish(const OwnRequest& own, MPI_Status* status) {
  if (kept_ && !own.operation->persistent()) kept_->vacate(static_cast<std::size_t>(own.place));
  return requests::finish(&requests_[own.place], *own.operation, status);
}

std::vector<MPI_Request>& RequestArray::with_missing() {
  for (const OwnRequest& own : own())
    if (const MPI_Request missing = own.operation->missing(); missing != MPI_REQUEST_NULL)
      content_->natives.push_back(missing);
  return content_->natives;
}

}  // namespace hob::mpi::requests
