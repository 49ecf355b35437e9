// Several threads of one rank that use a window at once: reading, or writing in bursts to one
// target.
//
// The threads' lists are made one after the other, but run at the same time. So what one thread
// writes no other one touches in the same burst; only accumulates of one kind meet.

#include <algorithm>
#include <thread>

#include "generate.hpp"

namespace fuzz {

/// Makes a list of actions for each thread with `thread`, and runs them at once. Before and after,
/// nothing of the rank's is under way on the window, and no buffer is used twice.
void Generator::in_threads(int rank, int id, const std::function<void(int)>& thread) {
  auto& own = outstanding_[static_cast<std::size_t>(rank)];
  before_threads_.swap(own);
  auto lists = std::make_shared<std::vector<Script>>(static_cast<std::size_t>(options_.threads));
  Script* outer = into_;
  threaded_ = true;
  int number = 0;
  for (Script& list : *lists) {
    into_ = &list;
    thread(number++);
    wait_requests(rank, true);
    flush_all(rank, id, "  thread");
    late_checks(rank);
  }
  threaded_ = false;
  reading_ = false;
  into_ = outer;
  own.swap(before_threads_);
  for (int slot : held_slots_[static_cast<std::size_t>(rank)])
    slot_used_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(slot)] = false;
  held_slots_[static_cast<std::size_t>(rank)].clear();
  emit(
      rank,
      [lists](World& world) {
        std::vector<std::thread> threads;
        for (const Script& list : *lists) {
          threads.emplace_back([&list, &world] {
            for (const Action& action : list) action.run(world);
          });
        }
        for (std::thread& thread : threads) thread.join();
      },
      "w%d: %d threads", id, options_.threads);
}

/// Where locks are taken for each access, in an epoch of its own, whose lock the threads may be the
/// first to need.
void Generator::threaded_burst(int rank, int id) {
  const bool lock = windows_[static_cast<std::size_t>(id)]->regime == Regime::kLock;
  emit(
      rank,
      [=](World& world) {
        MPI_Win win = world.windows[static_cast<std::size_t>(id)].win;
        for (int target = 0; lock && target < world.size; ++target)
          MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        if (!lock) MPI_Win_flush_all(win);
      },
      "w%d: %s before threads", id, lock ? "lock all one by one" : "flush_all");
  if (!lock) complete(rank, id, -1, true);
  in_threads(rank, id, [&](int) {
    const int operations = 2 + random_.below(20);
    reading_ = random_.chance(60);
    for (int i = 0; i < operations; ++i) {
      operation(rank, id, everybody(), true, false);
      if (random_.chance(50)) completion_event(rank, id);
    }
  });
  if (!lock) return;
  emit(
      rank,
      [id](World& world) {
        for (int target = 0; target < world.size; ++target)
          MPI_Win_unlock(target, world.windows[static_cast<std::size_t>(id)].win);
      },
      "w%d: unlock after threads", id);
}

/// Each thread has many operations under way to the same target before it flushes.
void Generator::writing_burst(int rank, int id) {
  const Window& window = *windows_[static_cast<std::size_t>(id)];
  if (read_only(id)) return;
  const int target = size_ > 1 && random_.chance(85) ? (rank + 1 + random_.below(size_ - 1)) % size_
                                                     : random_.below(size_);
  if (window.part(target).size == 0) return;
  const bool lock = window.regime == Regime::kLock;
  const bool all = lock && on_.lockall && random_.chance(30);
  emit(
      rank,
      [=](World& world) {
        MPI_Win win = world.windows[static_cast<std::size_t>(id)].win;
        if (all)
          MPI_Win_lock_all(0, win);
        else if (lock)
          MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        else
          MPI_Win_flush_all(win);
      },
      "w%d: %s before a burst to %d", id, lock ? "lock" : "flush_all", target);
  if (!lock) complete(rank, id, -1, true);
  burst_ = std::make_unique<Burst>();
  burst_->long_ones = window.big;
  burst_->base = random_integer(random_);
  burst_->op = random_.pick(std::vector<Op>{Op::kSum, Op::kSum, Op::kXor, Op::kMax});
  in_threads(rank, id, [&](int thread) {
    burst_->thread = thread;
    burst_of_thread(rank, id, target);
  });
  burst_ = nullptr;
  if (!lock) return;
  emit(
      rank,
      [=](World& world) {
        MPI_Win win = world.windows[static_cast<std::size_t>(id)].win;
        all ? MPI_Win_unlock_all(win) : MPI_Win_unlock(target, win);
      },
      "w%d: unlock after a burst to %d", id, target);
}

void Generator::burst_of_thread(int rank, int id, int target) {
  for (int flushes = 1 + random_.below(3); flushes > 0; --flushes) {
    for (int i = 8 + random_.below(32); i > 0; --i) {
      const int roll = random_.below(100);
      if (roll < 45)
        put(rank, id, target);
      else if (roll < 75 && on_.accumulate)
        accumulate(rank, id, target, on_.fetch && random_.chance(20));
      else if (roll < 80 && on_.accumulate && on_.fetch)
        single(rank, id, target);
      else
        get(rank, id, Ranks{1} << target, on_.fetch && random_.chance(12), false);
    }
    if (random_.chance(50)) wait_requests(rank, true);
    const bool all = random_.chance(20);
    emit(
        rank,
        [=](World& world) {
          MPI_Win win = world.windows[static_cast<std::size_t>(id)].win;
          all ? MPI_Win_flush_all(win) : MPI_Win_flush(target, win);
        },
        "  thread: flush %d", all ? -1 : target);
    complete(rank, id, target, true);
  }
}

/// Mostly in a part of the thread's own; in units from the window's begin.
std::int64_t Generator::place_in_burst(std::int64_t room) {
  if (random_.chance(25)) return random_.below(static_cast<int>(room + 1));
  const std::int64_t first = room * burst_->thread / options_.threads;
  const std::int64_t last = room * (burst_->thread + 1) / options_.threads;
  return first + random_.below(static_cast<int>(last - first + 1));
}

/// Whether no other thread of the burst writes there.
bool Generator::burst_read(const Blocks& blocks) const {
  if (burst_ == nullptr) return true;
  return std::all_of(blocks.begin(), blocks.end(), [&](int b) {
    const auto found = burst_->writer.find(b);
    return found == burst_->writer.end() || found->second == burst_->thread;
  });
}

/// Whether no other thread of the burst uses what is there, but for accumulates of kind `sum`.
bool Generator::burst_write(const Blocks& blocks, std::uint16_t sum) const {
  if (burst_ == nullptr) return true;
  return std::all_of(blocks.begin(), blocks.end(), [&](int b) {
    const auto readers = burst_->readers.find(b);
    if (readers != burst_->readers.end() && (readers->second & ~(1U << burst_->thread)) != 0)
      return false;
    const auto writer = burst_->writer.find(b);
    return writer == burst_->writer.end() || writer->second == burst_->thread ||
           (sum != 0 && writer->second == Burst::kShared + sum);
  });
}

void Generator::note_burst(const Blocks& blocks, bool write, std::uint16_t sum) {
  if (burst_ == nullptr) return;
  for (int b : blocks) {
    if (write)
      burst_->writer.insert({b, sum != 0 ? Burst::kShared + sum : burst_->thread});
    else
      burst_->readers[b] |= 1U << burst_->thread;
  }
}

}  // namespace fuzz
