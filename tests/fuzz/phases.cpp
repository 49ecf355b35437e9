// Programs that change their ways: long stretches of one kind of call, so that what looks at gains
// and costs (validation, readahead, batches, takeover, sleep) switches on, off, and on again.
//
// What is repeated is made once and run many times: nothing in it changes the windows, so each
// round reads the same.

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "generate.hpp"
#include "synchronise.hpp"

namespace fuzz {

/// Mostly some tens, now and then more than a thousand, as mechanisms look at that many. Ranks that
/// share cores take a time slice for each collective call.
int Generator::stretch_length() {
  const int roll = random_.below(100);
  if (roll < 50 || size_ > 2) return 10 + random_.below(60);
  if (roll < 85) return 100 + random_.below(300);
  return 1000 + random_.below(600);
}

/// The own actions that `make` emits for `rank`, complete in themselves: before and after, nothing
/// of the rank's is under way.
Script Generator::listed(int rank, int id, const std::function<void()>& make) {
  late_checks(rank);
  auto& own = outstanding_[static_cast<std::size_t>(rank)];
  before_threads_.swap(own);
  Script list;
  Script* outer = into_;
  into_ = &list;
  make();
  wait_requests(rank, true);
  if (windows_[static_cast<std::size_t>(id)]->regime == Regime::kLockAll)
    flush_all(rank, id, "  stretch");
  late_checks(rank);
  into_ = outer;
  own.swap(before_threads_);
  return list;
}

namespace {

void run_list(const Script& list, World& world) {
  for (const Action& action : list) action.run(world);
}

std::string texts(const Script& list) {
  std::string all;
  for (const Action& action : list) all += "\n      " + action.text;
  return all;
}

}  // namespace

/// One rank reads the same places again and again.
void Generator::repeated_reads(int rank, int id) {
  const bool lock = windows_[static_cast<std::size_t>(id)]->regime == Regime::kLock;
  const int target = random_.below(size_);
  const int places = 1 + random_.below(4);
  const int each = random_.below(100);
  const auto list = std::make_shared<Script>(listed(rank, id, [&] {
    if (lock)
      emit(
          rank,
          [=](World& world) {
            MPI_Win_lock(MPI_LOCK_SHARED, target, 0,
                         world.windows[static_cast<std::size_t>(id)].win);
          },
          "  lock shared %d", target);
    reading_ = true;
    for (int i = 0; i < places; ++i) {
      operation(rank, id, lock ? Ranks{1} << target : everybody(), true, false);
      if (random_.chance(each)) completion_event(rank, id);
    }
    reading_ = false;
    if (!lock) return;
    wait_requests(rank, true);
    emit(
        rank,
        [=](World& world) {
          MPI_Win_unlock(target, world.windows[static_cast<std::size_t>(id)].win);
        },
        "  unlock %d", target);
    complete(rank, id, target, true);
  }));
  const int times = stretch_length();
  emit(
      rank,
      [=](World& world) {
        for (int i = 0; i < times; ++i) run_list(*list, world);
      },
      "w%d: %d times:%s", id, times, texts(*list).c_str());
}

/// All ranks read the same places, then meet, again and again: nobody wrote in between.
void Generator::reads_and_collectives(int id) {
  const int form = random_.below(10);
  const int times = std::min(300, stretch_length());
  for (int r = 0; r < size_; ++r) {
    const auto list = std::make_shared<Script>(listed(r, id, [&] {
      if (random_.chance(20)) return;
      reading_ = true;
      for (int i = 1 + random_.below(4); i > 0; --i) {
        operation(r, id, everybody(), true, false);
        if (random_.chance(40)) completion_event(r, id);
      }
      reading_ = false;
    }));
    emit(
        r,
        [=](World& world) {
          for (int i = 0; i < times; ++i) {
            run_list(*list, world);
            all_wait(world, form);
          }
        },
        "w%d: %d times, each with a collective of form %d:%s", id, times, form,
        texts(*list).c_str());
  }
  after_global_sync();
}

/// Words here and there of a part of a target that nobody writes: hardly one of them twice.
void Generator::scattered_reads(int rank, int id) {
  const Window& window = *windows_[static_cast<std::size_t>(id)];
  const int target = random_.below(size_);
  Memory& memory = window.memory(target);
  const Shown& shown = window.part(target);
  const int unit = shown.unit;
  const int words = shown.size / (8 * unit);
  if (window.kind == WindowKind::kDynamic || words < 2) return;
  std::vector<int> readable;  // words of 8 units, of which the first 8 bytes are read
  for (int word = 0; word < words; ++word) {
    const int start = shown.first + word * 8 * unit;
    Blocks blocks = {start / kBlock};
    if ((start + 7) / kBlock != start / kBlock) blocks.push_back(start / kBlock + 1);
    if (!may_read(memory, blocks, rank)) continue;
    note_read(memory, blocks, rank);
    readable.push_back(word);
  }
  if (readable.empty()) return;
  const std::uint64_t start = random_.next();
  const int times = stretch_length();
  const int burst = 1 + random_.below(random_.chance(50) ? 1 : 40);
  const bool checked = rank == rank_;
  const auto bytes = std::make_shared<std::vector<std::uint8_t>>(
      checked ? memory.bytes : std::vector<std::uint8_t>{});
  const int operation = ++operations_;
  emit(
      rank,
      [=, first = shown.first](World& world) {
        MPI_Win win = world.windows[static_cast<std::size_t>(id)].win;
        Random here(start);
        std::vector<std::uint8_t> got(static_cast<std::size_t>(burst) * 8);
        std::vector<int> asked(static_cast<std::size_t>(burst));
        for (int done = 0; done < times; done += burst) {
          std::memset(got.data(), 0xA5, got.size());
          for (std::size_t i = 0; i < asked.size(); ++i) {
            asked[i] = here.pick(readable);
            MPI_Get(&got[i * 8], 8, MPI_BYTE, target, asked[i] * 8, 8, MPI_BYTE, win);
          }
          MPI_Win_flush(target, win);
          for (std::size_t i = 0; i < asked.size(); ++i) {
            const int from = first + asked[i] * 8 * unit;
            Expectation{operation,      -1,   id,
                        target,         from, {bytes->begin() + from, bytes->begin() + from + 8},
                        "scattered get"}
                .check(world, &got[i * 8]);
          }
        }
      },
      "op %d: %d scattered gets from %d of w%d, %d before each flush", operation, times, target, id,
      burst);
}

void Generator::collectives_only() {
  const int form = random_.below(10);
  const int times = stretch_length();
  for (int r = 0; r < size_; ++r)
    emit(
        r,
        [=](World& world) {
          for (int i = 0; i < times; ++i) all_wait(world, form);
        },
        "%d times: everybody waits for everybody, form %d", times, form);
  after_global_sync();
}

/// Now and then somebody writes, and all look.
void Generator::writing_rounds(int id) {
  const bool flushed = random_.chance(50);
  for (int rounds = 2 + random_.below(10); rounds > 0; --rounds) {
    const int writer = random_.below(size_);
    for (int i = 1 + random_.below(25); i > 0; --i) {
      operation(writer, id, everybody(), false, false);
      if (flushed) completion_event(writer, id);
    }
    if (random_.chance(15)) store(writer, id);
    flush_all(writer, id, "w" + std::to_string(id));
    global_sync();
    for (int r = 0; r < size_; ++r) {
      reading_ = true;
      for (int i = random_.below(5); i > 0; --i) operation(r, id, everybody(), true, false);
      reading_ = false;
      if (random_.chance(60)) completion_event(r, id);
    }
    if (random_.chance(30)) global_sync();
  }
}

/// Many receives are posted before their messages come, in another order; again and again.
void Generator::queue_of_receives() {
  const int from = random_.below(size_);
  const int to = (from + 1) % size_;
  if (from == to) return;
  const int depth = 2 + random_.below(random_.chance(30) ? 200 : 30);
  const int times = 1 + stretch_length() / depth / 2;
  const bool any = random_.chance(20);
  const int stride = random_.chance(50) ? depth - 1 : 1;  // backwards or forwards
  constexpr int kFirstTag = 30100;
  emit(
      to,
      [=](World& world) {
        std::vector<int> values(static_cast<std::size_t>(depth));
        std::vector<MPI_Request> requests(values.size());
        int one = 1;
        for (int round = 0; round < times; ++round) {
          std::fill(values.begin(), values.end(), -1);
          for (int i = 0; i < depth; ++i)
            MPI_Irecv(&values[static_cast<std::size_t>(i)], 1, MPI_INT,
                      any && i == 0 ? MPI_ANY_SOURCE : from, kFirstTag + i, world.comm,
                      &requests[static_cast<std::size_t>(i)]);
          MPI_Send(&one, 1, MPI_INT, from, kFirstTag + depth, world.comm);  // they are posted
          MPI_Waitall(depth, requests.data(), MPI_STATUSES_IGNORE);
          for (int i = 0; i < depth; ++i) {
            if (values[static_cast<std::size_t>(i)] != round * depth + i && world.failures++ < 3)
              std::printf("MISMATCH program %d: message %d of round %d is %d\n", world.program, i,
                          round, values[static_cast<std::size_t>(i)]);
          }
        }
      },
      "%d times %d receives from %d", times, depth, from);
  emit(
      from,
      [=](World& world) {
        int one = 0;
        for (int round = 0; round < times; ++round) {
          MPI_Recv(&one, 1, MPI_INT, to, kFirstTag + depth, world.comm, MPI_STATUS_IGNORE);
          for (int i = 0; i < depth; ++i) {
            const int which = stride == 1 ? i : depth - 1 - i;
            const int value = round * depth + which;
            MPI_Send(&value, 1, MPI_INT, to, kFirstTag + which, world.comm);
          }
        }
      },
      "%d times %d messages to %d, %s", times, depth, to, stride == 1 ? "in order" : "backwards");
  inform(from, to);
  inform(to, from);
}

/// The windows that are open for all targets. Nothing is under way in them from here on.
std::vector<int> Generator::settled_windows() {
  for (int r = 0; r < size_; ++r) {
    wait_requests(r, true);
    for (int w : open_) {
      if (windows_[static_cast<std::size_t>(w)]->regime != Regime::kLockAll) continue;
      emit(
          r,
          [w](World& world) { MPI_Win_flush_all(world.windows[static_cast<std::size_t>(w)].win); },
          "w%d: flush_all before stretches", w);
      complete(r, w, -1, true);
    }
  }
  std::vector<int> all;
  for (int w : open_) {
    if (windows_[static_cast<std::size_t>(w)]->regime == Regime::kLockAll) all.push_back(w);
  }
  return all;
}

/// One to three kinds of phases in turn: each reads its places, most of whose bytes are written
/// anew before it, by all ways that there are to read. Now and then a phase is left out, or is
/// shorter.
void Generator::recurring_phases() {
  const std::vector<int> all = settled_windows();
  if (all.empty()) return global_sync();
  const int id = random_.pick(all);
  struct Kind {
    std::vector<Random> places;  // of each rank
    std::vector<int> reads;
  };
  std::vector<Kind> kinds(static_cast<std::size_t>(1 + random_.below(3)));
  for (Kind& kind : kinds)
    for (int r = 0; r < size_; ++r) {
      kind.places.emplace_back(random_.next());
      kind.reads.push_back(random_.chance(30) ? 0 : 2 + random_.below(12));
    }
  for (int round = 3 + random_.below(5); round > 0; --round)
    for (const Kind& kind : kinds) {
      if (random_.chance(10)) continue;
      const int writer = random_.below(size_);
      for (int i = on_.write ? random_.below(12) : 0; i > 0; --i)
        operation(writer, id, everybody(), false, false);
      if (on_.write && random_.chance(30)) store(writer, id);
      flush_all(writer, id, "w" + std::to_string(id));
      global_sync();
      for (int r = 0; r < size_; ++r) {
        const auto place = static_cast<std::size_t>(r);
        const int reads = random_.chance(10) ? kind.reads[place] / 2 : kind.reads[place];
        const Random outer = random_;
        random_ = kind.places[place];
        reading_ = true;
        for (int i = 0; i < reads; ++i) {
          operation(r, id, everybody(), true, false);
          if (random_.chance(50)) completion_event(r, id);
        }
        reading_ = false;
        random_ = outer;
      }
    }
}

/// Two to five stretches. Nothing is under way at their start.
void Generator::stretches() {
  const std::vector<int> all = settled_windows();
  std::vector<int> locked;
  for (int w : open_) {
    if (windows_[static_cast<std::size_t>(w)]->regime == Regime::kLock) locked.push_back(w);
  }
  const int again = all.empty() ? -1 : random_.pick(all);  // the window to which reads come back
  for (int left = 2 + random_.below(4); left > 0; --left) {
    const int roll = random_.below(100);
    if (roll < 15 || (again < 0 && locked.empty()))
      on_.collective ? collectives_only() : global_sync();
    else if (roll < 25 && on_.p2p)
      queue_of_receives();
    else if (again < 0)
      repeated_reads(random_.below(size_), random_.pick(locked));
    else if (roll < 50)
      repeated_reads(random_.below(size_), again);
    else if (roll < 65 && on_.collective)
      reads_and_collectives(again);
    else if (roll < 80)
      scattered_reads(random_.below(size_), again);
    else if (on_.write)
      writing_rounds(again);
  }
}

}  // namespace fuzz
