#include "mpi/rma/incoming.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/lasting.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/requests/request.hpp"
#include "validation/incoming.hpp"

namespace hob::mpi {
namespace {

/// Ends what a request fills when the request is complete.
class Registry final : public CompletionObserver {
 public:
  void completed(std::uint64_t cookie, bool freed) override {
    if (freed) return;  // its end will not be seen
    const std::lock_guard guard(lock);
    incoming.end(cookie);
  }

  Spin lock;
  validation::Incoming incoming;
};

Registry& registry() { return lasting<Registry>(); }

/// Bytes of `count` elements in a row, relative to the buffer: [first, second).
std::pair<MPI_Aint, MPI_Aint> span(MPI_Count count, MPI_Datatype type) {
  if (count <= 0 || type == MPI_DATATYPE_NULL) return {0, 0};
  MPI_Aint low = 0, extent = 0, true_low = 0, true_extent = 0;
  real::Type_get_extent(type, &low, &extent);
  real::Type_get_true_extent(type, &true_low, &true_extent);
  const MPI_Aint last = extent * static_cast<MPI_Aint>(count - 1);
  return {true_low + std::min<MPI_Aint>(0, last),
          true_low + true_extent + std::max<MPI_Aint>(0, last)};
}

}  // namespace

void IncomingBuffer::add(std::uintptr_t begin, std::uintptr_t end) {
  if (begin >= end) return;
  begin_ = std::min(begin_, begin);
  end_ = std::max(end_, end);
  Registry& r = registry();
  const std::lock_guard guard(r.lock);
  if (fill_ != 0) r.incoming.end(fill_);
  fill_ = r.incoming.begin({begin_, end_});
}

void IncomingBuffer::end() {
  Registry& r = registry();
  const std::lock_guard guard(r.lock);
  r.incoming.end(fill_);
}

void IncomingBuffer::fill(void* buffer, MPI_Count count, MPI_Datatype type) {
  if (buffer == MPI_IN_PLACE) return;  // a root that scatters; its count and type may be anything
  const auto [first, last] = span(count, type);
  const auto base = reinterpret_cast<std::uintptr_t>(buffer);
  add(base + static_cast<std::uintptr_t>(first), base + static_cast<std::uintptr_t>(last));
}

void IncomingBuffer::fill_from_all(void* buffer, MPI_Count count, MPI_Datatype type,
                                   MPI_Comm comm) {
  fill(buffer, count * senders(comm), type);
}

void IncomingBuffer::fill_from_neighbors(void* buffer, MPI_Count count, MPI_Datatype type,
                                         MPI_Comm comm) {
  fill(buffer, count * neighbors(comm), type);
}

template <class Count, class Displacement>
void IncomingBuffer::fill_blocks(void* buffer, const Count* counts, const Displacement* displs,
                                 MPI_Datatype type, int blocks) {
  if (type == MPI_DATATYPE_NULL) return;
  MPI_Aint low = 0, extent = 0;
  real::Type_get_extent(type, &low, &extent);
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < blocks; ++i) {
    const auto [first, last] = span(counts[i], type);
    if (first == last) continue;
    const auto base = reinterpret_cast<std::uintptr_t>(buffer) +
                      static_cast<std::uintptr_t>(static_cast<MPI_Aint>(displs[i]) * extent);
    begin = std::min(begin, base + static_cast<std::uintptr_t>(first));
    end = std::max(end, base + static_cast<std::uintptr_t>(last));
  }
  add(begin, end);
}

template <class Count, class Displacement>
void IncomingBuffer::fill_typed_blocks(void* buffer, const Count* counts,
                                       const Displacement* displs, const MPI_Datatype* types,
                                       int blocks) {
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < blocks; ++i) {
    const auto [first, last] = span(counts[i], types[i]);
    if (first == last) continue;
    const auto base = reinterpret_cast<std::uintptr_t>(buffer) +
                      static_cast<std::uintptr_t>(static_cast<MPI_Aint>(displs[i]));
    begin = std::min(begin, base + static_cast<std::uintptr_t>(first));
    end = std::max(end, base + static_cast<std::uintptr_t>(last));
  }
  add(begin, end);
}

template void IncomingBuffer::fill_blocks(void*, const int*, const int*, MPI_Datatype, int);
template void IncomingBuffer::fill_blocks(void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype,
                                          int);
template void IncomingBuffer::fill_typed_blocks(void*, const int*, const int*, const MPI_Datatype*,
                                                int);
template void IncomingBuffer::fill_typed_blocks(void*, const int*, const MPI_Aint*,
                                                const MPI_Datatype*, int);
template void IncomingBuffer::fill_typed_blocks(void*, const MPI_Count*, const MPI_Aint*,
                                                const MPI_Datatype*, int);

int IncomingBuffer::senders(MPI_Comm comm) {
  int between_groups = 0, size = 0;
  real::Comm_test_inter(comm, &between_groups);
  if (between_groups != 0)
    real::Comm_remote_size(comm, &size);
  else
    real::Comm_size(comm, &size);
  return size;
}

int IncomingBuffer::neighbors(MPI_Comm comm) {
  int topology = MPI_UNDEFINED, count = 0;
  real::Topo_test(comm, &topology);
  if (topology == MPI_CART) {
    real::Cartdim_get(comm, &count);
    return 2 * count;
  }
  if (topology == MPI_GRAPH) {
    real::Graph_neighbors_count(comm, rank_in(comm), &count);
  } else if (topology == MPI_DIST_GRAPH) {
    int out = 0, weighted = 0;
    real::Dist_graph_neighbors_count(comm, &count, &out, &weighted);
  }
  return count;
}

int IncomingBuffer::rank_in(MPI_Comm comm) {
  int rank = 0;
  real::Comm_rank(comm, &rank);
  return rank;
}

bool IncomingBuffer::is_root(int root, MPI_Comm comm) {
  return root == MPI_ROOT || root == rank_in(comm);
}

void IncomingBuffer::until(const MPI_Request* request, bool succeeded) {
  if (HOB_LIKELY(fill_ == 0) || !succeeded) return;
  const std::uint64_t fill = fill_;
  fill_ = 0;
  // The end of a request of Hob's own is not reported; what it fills counts as written for good.
  if (*request == MPI_REQUEST_NULL || requests::find(*request)) return;
  requests::watch(*request, registry(), fill);
}

void compare_incoming(std::uint64_t window, const void* base, std::uint64_t bytes) {
  Registry& r = registry();
  const std::lock_guard guard(r.lock);
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  if (r.incoming.nothing_exposed()) {
    begin_tracking();  // the wrappers of calls that receive are the library's own while tracking is
                       // off
    all_windows.incoming_compared.store(1, std::memory_order_relaxed);
  }
  r.incoming.expose(window, {begin, begin + std::max<std::uint64_t>(bytes, 1)});
}

void stop_comparing_incoming(std::uint64_t window) {
  Registry& r = registry();
  const std::lock_guard guard(r.lock);
  if (r.incoming.nothing_exposed()) return;
  r.incoming.hide(window);
  if (!r.incoming.nothing_exposed()) return;
  all_windows.incoming_compared.store(0, std::memory_order_relaxed);
  end_tracking();
}

bool take_incoming(std::uint64_t window) {
  Registry& r = registry();
  const std::lock_guard guard(r.lock);
  return r.incoming.take_filled(window);
}

std::uint64_t incoming_fills() {
  Registry& r = registry();
  const std::lock_guard guard(r.lock);
  return r.incoming.fills();
}

}  // namespace hob::mpi
