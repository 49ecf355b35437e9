#include "mpi/rma/cache/requested_gets.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/requests/served.hpp"
#include "mpi/rma/cache/entered.hpp"

namespace hob::mpi {
namespace {

/// A request of the library's. Leaves it as it is.
bool is_complete(MPI_Request request) {
  int flag = 0;
  return !requests::find(request) &&
         real::Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag;
}

}  // namespace

bool RequestedGets::make(MPI_Request& request, std::uint32_t first, std::uint32_t second) {
  try {
    if (first == PendingGet::kNone && second == PendingGet::kNone)
      request = requests::served();
    else
      RequestedGet::begin(*watch_, {cookie_of(first), cookie_of(second)}, request);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

RequestedGet& RequestedGets::begin(std::uint32_t index, MPI_Request& request) {
  return RequestedGet::begin(*watch_, {cookie_of(index), 0}, request);
}

/// What a get that was complete in its call, and took `first`, takes once its pages were touched: a
/// first touch makes near memory look far.
std::uint64_t RequestedGets::time_again(const Get& get, std::uint64_t first) {
  MPI_Request request = MPI_REQUEST_NULL;
  Get again = get;
  again.request = &request;
  const std::uint64_t start = ticks();
  if (parts_.backend.issue(again) != MPI_SUCCESS) return first;
  const std::uint64_t spent = ticks() - start;
  requests::wait(&request, MPI_STATUS_IGNORE);
  return std::min(first, spent);
}

int RequestedGets::issue(const LookedUp& asked, Plan plan, MadeRequest& made) {
  const auto& [get, t, wanted, hit] = asked;
  using Purpose = PendingGet::Purpose;
  const std::uint64_t start = parts_.issuer.times(t) ? ticks() : 0;
  const int result = parts_.issuer.issue(get, t);
  if (result != MPI_SUCCESS) return result;
  const std::uint64_t now = ticks();
  // On one node a library may copy the bytes in the call. Waits for requests alone say little
  // there.
  if (HOB_UNLIKELY(t.profile.sampling()) && start != 0 && context().one_node &&
      is_complete(*made.request))
    parts_.learning.arrived_at_once(t, get.target, wanted.size,
                                    many_threads ? now - start : time_again(get, now - start));
  try {
    if (plan == Plan::unkept || parts_.under_way.full())
      requests::mark_no_acquire(*made.request);
    else
      take_up(asked,
              {.buffer = get.result.address,
               .layout = wanted.origin,
               .bytes = wanted.size,
               .issue_ticks = start != 0 ? now - start : 0,
               .when = now,
               .purpose = plan == Plan::refetch ? Purpose::refetch : Purpose::requested},
              made);
  } catch (const std::bad_alloc&) {
    // Not kept: the request is the backend's own.
  }
  return result;
}

/// A get was issued whose bytes are kept or compared when they have arrived.
void RequestedGets::take_up(const LookedUp& asked, PendingGet issued, MadeRequest& made) {
  const auto& [get, t, wanted, hit] = asked;
  const std::uint32_t index = parts_.under_way.add(t.pending, get.target, std::move(issued));
  PendingGet& pending = parts_.under_way[index];
  if (pending.purpose == PendingGet::Purpose::refetch) {
    ++parts_.stats.refetches;
    pending.speculative = hit.tag != 0;
    pending.entry = hit.entry;
    pending.offset = hit.offset;
  } else {
    const std::uint64_t extent = wanted.extent(get);
    parts_.issuer.missed(t, wanted.size, wanted.size);
    parts_.kept.fetches(get.target, t, wanted.key.displacement, extent);
    pending.entry =
        parts_.cache.reserve(wanted.key, wanted.size, {.extent = extent, .cookie = index}).entry;
  }
  if (!requests::find(*made.request)) {
    made.watch = book_.cookie_of(index);
    return;
  }
  // A watch does not see the end of a request of Hob's own.
  MPI_Request handle = MPI_REQUEST_NULL;
  begin(index, handle);
  pending.request = handle_bits(*made.request);
  *made.request = handle;
}

bool RequestedGets::wait_for(PendingGet& pending) {
  auto handle = handle_of<MPI_Request>(pending.request);
  int error = MPI_SUCCESS;
  for (int flag = 0; !flag && error == MPI_SUCCESS;)
    error = requests::test(&handle, &flag, MPI_STATUS_IGNORE);
  if (HOB_LIKELY(error == MPI_SUCCESS)) return true;
  book_.failed(book_.cookie_of(parts_.under_way.index_of(pending)), error);
  return false;
}

void RequestedGets::request_asked(std::uint64_t cookie) {
  const Entered guard(parts_.lock, parts_.hot);
  if (PendingGet* const pending = book_.find(cookie); pending && pending->asked == 0)
    pending->asked = ticks();
}

void RequestedGets::request_completed(std::uint64_t cookie, bool freed) {
  const Entered guard(parts_.lock, parts_.hot);
  PendingGet* const pending = book_.find(cookie);
  if (!pending) return;
  TargetState& t = parts_.targets.used(pending->rank);
  // Of one that was freed it is not known until when the program leaves the buffer as it is.
  if (!freed)
    parts_.owner.get_arrived(*pending, t, true);
  else if (pending->purpose == PendingGet::Purpose::refetch)
    parts_.cache.drop(pending->entry);
  else
    parts_.cache.abandon(pending->entry);
  // A program may never flush: the slot is free now.
  parts_.under_way.remove(t.pending, gets::RequestBook::index_of(cookie));
}

MPI_Request RequestedGets::request_of(std::uint64_t cookie) {
  const Entered guard(parts_.lock, parts_.hot);
  const PendingGet* const pending = book_.find(cookie);
  if (!pending || pending->request == 0) return MPI_REQUEST_NULL;
  return handle_of<MPI_Request>(pending->request);
}

bool RequestedGets::request_arrived(std::uint64_t cookie, int& error) {
  const Entered guard(parts_.lock, parts_.hot);
  PendingGet* const pending = book_.find(cookie);
  if (!pending) {
    error = book_.error_of(cookie, error);
    return true;
  }
  if (pending->asked == 0) pending->asked = ticks();
  auto handle = handle_of<MPI_Request>(pending->request);
  int flag = 0;
  error = requests::test(&handle, &flag, MPI_STATUS_IGNORE);
  if (!flag && error == MPI_SUCCESS) return false;
  parts_.progress.entered(ticks());
  TargetState& t = parts_.targets.used(pending->rank);
  parts_.owner.get_arrived(*pending, t, error == MPI_SUCCESS);
  parts_.under_way.remove(t.pending, gets::RequestBook::index_of(cookie));
  if (HOB_UNLIKELY(error != MPI_SUCCESS)) {
    parts_.owner.get_failed();
    book_.failed(cookie, error);
  }
  return true;
}

}  // namespace hob::mpi
