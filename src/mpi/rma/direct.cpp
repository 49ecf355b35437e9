#include "mpi/rma/direct.hpp"

#include <new>

#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/requests/prebuilt.hpp"
#include "mpi/requests/request.hpp"
#include "os/thread_state.hpp"

namespace hob::mpi::direct {
namespace {

/// The counts of one thread after another, and how much of them windows have been given.
struct Block {
  ThreadCounts counts;
  std::array<std::array<std::uint64_t, kKinds>, kSlots> collected{};

  static void thread_ended() { own_counts = nullptr; }
};
using Blocks = os::PerThread<Block>;

}  // namespace

void give_counts() {
  try {
    own_counts = &Blocks::here().counts;
  } catch (const std::bad_alloc&) {
    own_counts = nullptr;
  }
}

void note_request(MPI_Request request, const Place& place) {
  // An empty operation shows whether all have the same.
  MPI_Request second = MPI_REQUEST_NULL;
  if (requests::seeks_prebuilt() && real::Rget(&second, 0, MPI_BYTE, place.target, place.disp, 0,
                                               MPI_BYTE, place.window, &second) == MPI_SUCCESS)
    requests::settle_prebuilt(request, second);
  requests::note_no_acquire(request);
}

bool holds_slot(MPI_Win window) {
  return slots[slot_of(window)].handle.load(std::memory_order_relaxed) == handle_bits(window);
}

void take_slot(MPI_Win window, const Counted& counted) {
  Slot& slot = slots[slot_of(window)];
  if (slot.handle.load(std::memory_order_relaxed) != 0) return;
  slots.counters[slot_of(window)] = counted.counters;
  slot.results.store(counted.results, std::memory_order_relaxed);
  slot.own.store(counted.own, std::memory_order_relaxed);
  slot.rank.store(counted.rank, std::memory_order_relaxed);
  slot.size.store(counted.size, std::memory_order_relaxed);
  slot.open.store(counted.open, std::memory_order_relaxed);
  slot.handle.store(handle_bits(window), std::memory_order_release);
}

void forget(MPI_Win window) {
  const std::lock_guard guard(slots.lock);
  if (holds_slot(window)) slots[slot_of(window)].open.store(Open::none, std::memory_order_relaxed);
}

void forget_all() {
  const std::lock_guard guard(slots.lock);
  for (Slot& slot : slots.all) slot.open.store(Open::none, std::memory_order_relaxed);
}

void collect(MPI_Win window) {
  if (!many_threads) return;
  const std::lock_guard guard(slots.lock);
  if (!holds_slot(window)) return;
  const std::size_t slot = slot_of(window);
  Blocks::each([&](Block& block) {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      const std::uint64_t now = block.counts.rows[slot][kind].load(std::memory_order_relaxed);
      std::uint64_t& before = block.collected[slot][kind];
      std::atomic_ref(*slots.counters[slot][kind])
          .fetch_add(now - before, std::memory_order_relaxed);
      before = now;
    }
  });
}

void release(MPI_Win window) {
  collect(window);
  if (many_threads && holds_slot(window))
    slots[slot_of(window)].handle.store(0, std::memory_order_relaxed);
}

}  // namespace hob::mpi::direct
