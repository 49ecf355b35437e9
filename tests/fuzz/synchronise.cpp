// How ranks come to know what others wrote: every call from whose completion a process can learn.

#include "synchronise.hpp"

#include <sched.h>

#include "generate.hpp"

namespace fuzz {

void all_wait(World& world, int form) {
  std::vector<int> out(static_cast<std::size_t>(world.size), 1);
  std::vector<int> in(static_cast<std::size_t>(world.size), 0);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm other;
  int flag = 0;
  switch (form) {
    case 0:
      MPI_Barrier(world.comm);
      break;
    case 1:
      MPI_Allreduce(out.data(), in.data(), 1, MPI_INT, MPI_SUM, world.comm);
      break;
    case 2:
      MPI_Ibarrier(world.comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    case 3:
      MPI_Ibarrier(world.comm, &request);
      while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      break;
    case 4:
      MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, world.comm);
      break;
    case 5:
      MPI_Allgather(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, world.comm);
      break;
    case 6:
      MPI_Reduce(out.data(), in.data(), 1, MPI_INT, MPI_SUM, 0, world.comm);
      MPI_Bcast(out.data(), 1, MPI_INT, 0, world.comm);
      break;
    case 7:
      MPI_Comm_dup(world.comm, &other);
      MPI_Barrier(other);
      MPI_Comm_free(&other);
      break;
    case 8:
      MPI_Iallreduce(out.data(), in.data(), 1, MPI_INT, MPI_SUM, world.comm, &request);
      MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
      break;
    default:
      MPI_Reduce_scatter_block(out.data(), in.data(), 1, MPI_INT, MPI_SUM, world.comm);
      break;
  }
}

namespace {

/// One value from one rank to another; `form` says with which calls it is received.
void receive(World& world, int from, int tag, int form) {
  int value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  MPI_Message message;
  int flag = 0;
  int index = 0;
  const int source = form % 2 == 0 ? from : MPI_ANY_SOURCE;
  switch (form) {
    case 0:
      MPI_Recv(&value, 1, MPI_INT, from, tag, world.comm, &status);
      return;
    case 1:
      MPI_Recv(nullptr, 0, MPI_INT, source, tag, world.comm, MPI_STATUS_IGNORE);
      return;
    case 2:
      MPI_Probe(from, tag, world.comm, &status);
      MPI_Recv(&value, 1, MPI_INT, from, tag, world.comm, MPI_STATUS_IGNORE);
      return;
    case 3:
      while (!flag) MPI_Iprobe(source, tag, world.comm, &flag, &status);
      MPI_Recv(&value, 1, MPI_INT, from, tag, world.comm, MPI_STATUS_IGNORE);
      return;
    case 4:
      MPI_Mprobe(from, tag, world.comm, &message, &status);
      MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
      return;
    case 5:
      while (!flag) MPI_Improbe(source, tag, world.comm, &flag, &message, &status);
      MPI_Imrecv(&value, 1, MPI_INT, &message, &request);
      MPI_Wait(&request, &status);
      return;
    case 6:
      MPI_Recv_init(&value, 1, MPI_INT, from, tag, world.comm, &request);
      break;
    default:
      MPI_Irecv(&value, 1, MPI_INT, source, tag, world.comm, &request);
      break;
  }
  if (form == 6) {
    MPI_Start(&request);
    MPI_Wait(&request, &status);
    MPI_Request_free(&request);
    return;
  }
  switch (form) {
    case 7:
      MPI_Wait(&request, &status);
      break;
    case 8:
      while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      break;
    case 9:
      MPI_Waitany(1, &request, &index, &status);
      break;
    case 10:
      MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
      break;
    case 11:
      MPI_Waitsome(1, &request, &flag, &index, MPI_STATUSES_IGNORE);
      break;
    case 12:
      while (!flag) MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
      break;
    case 13:
      while (!flag) MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
      break;
    case 14:
      while (flag == 0) MPI_Testsome(1, &request, &flag, &index, MPI_STATUSES_IGNORE);
      break;
    default:
      while (!flag) MPI_Request_get_status(request, &flag, &status);
      break;
  }
  if (request != MPI_REQUEST_NULL) MPI_Wait(&request, &status);
}

constexpr int kReceiveForms = 16;

void send(World& world, int to, int tag, int form, int count) {
  int value = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  switch (form) {
    case 0:
      MPI_Send(&value, count, MPI_INT, to, tag, world.comm);
      return;
    case 1:
      MPI_Ssend(&value, count, MPI_INT, to, tag, world.comm);
      return;
    case 2:
      MPI_Isend(&value, count, MPI_INT, to, tag, world.comm, &request);
      break;
    case 3:
      MPI_Issend(&value, count, MPI_INT, to, tag, world.comm, &request);
      break;
    default:
      MPI_Send_init(&value, count, MPI_INT, to, tag, world.comm, &request);
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Request_free(&request);
      return;
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void set_flag(World& world, int home, int cell, std::int64_t value, int form, bool lock_all) {
  MPI_Win win = world.sync_window[0];
  std::int64_t old = 0;
  if (!lock_all) MPI_Win_lock(form == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, home, 0, win);
  switch (form) {
    case 0:
      MPI_Put(&value, 1, MPI_INT64_T, home, cell, 1, MPI_INT64_T, win);
      break;
    case 1:
      MPI_Accumulate(&value, 1, MPI_INT64_T, home, cell, 1, MPI_INT64_T, MPI_REPLACE, win);
      break;
    case 2:
      MPI_Fetch_and_op(&value, &old, MPI_INT64_T, home, cell, MPI_REPLACE, win);
      break;
    default:
      MPI_Get_accumulate(&value, 1, MPI_INT64_T, &old, 1, MPI_INT64_T, home, cell, 1, MPI_INT64_T,
                         MPI_REPLACE, win);
      break;
  }
  if (lock_all)
    MPI_Win_flush(home, win);
  else
    MPI_Win_unlock(home, win);
}

void await_flag(World& world, int home, int cell, std::int64_t value, int form, bool lock_all) {
  MPI_Win win = world.sync_window[0];
  std::int64_t got = -1;
  const std::int64_t none = 0;
  int flag = 0;
  while (true) {
    if (form == 4) {  // own memory, under lock_all
      MPI_Win_sync(win);
      got = *const_cast<volatile std::int64_t*>(&world.flags[cell]);
    } else {
      if (!lock_all)
        MPI_Win_lock(form == 0 && value % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, home, 0, win);
      switch (form) {
        case 0:
          MPI_Get(&got, 1, MPI_INT64_T, home, cell, 1, MPI_INT64_T, win);
          break;
        case 1:
          MPI_Fetch_and_op(&none, &got, MPI_INT64_T, home, cell, MPI_NO_OP, win);
          break;
        case 2:
          MPI_Compare_and_swap(&value, &value, &got, MPI_INT64_T, home, cell, win);
          break;
        default:
          MPI_Get_accumulate(nullptr, 0, MPI_INT64_T, &got, 1, MPI_INT64_T, home, cell, 1,
                             MPI_INT64_T, MPI_NO_OP, win);
          break;
      }
      if (lock_all)
        MPI_Win_flush(home, win);
      else
        MPI_Win_unlock(home, win);
    }
    if (got >= value) return;  // a later flag may have overtaken this one
    MPI_Iprobe(MPI_ANY_SOURCE, 31999, world.comm, &flag, MPI_STATUS_IGNORE);
    sched_yield();
  }
}

}  // namespace

void Generator::inform(int from, int to) {
  for (int w : open_) {
    for (Memory& memory : *windows_[static_cast<std::size_t>(w)]->memories)
      fuzz::inform(memory, Ranks{1} << from, Ranks{1} << to);
  }
}

void Generator::after_global_sync() {
  for (int w : open_) {
    Window& window = *windows_[static_cast<std::size_t>(w)];
    for (Memory& memory : *window.memories) synchronise(memory, everybody());
  }
  // Reads still under way hold off later writers.
  for (const auto& list : outstanding_) {
    for (const Outstanding& o : list) {
      if (!o.get || o.local || o.expectation == nullptr) continue;
      note_read(windows_[static_cast<std::size_t>(o.window)]->memory(o.target), o.blocks, o.rank);
    }
  }
}

void Generator::global_sync() {
  const int form = on_.collective ? random_.below(10) : 0;
  for (int r = 0; r < size_; ++r)
    emit(
        r, [form](World& world) { all_wait(world, form); },
        "everybody waits for everybody, form %d", form);
  after_global_sync();
}

void Generator::sync_event() {
  std::vector<int> kinds = {0};
  if (on_.p2p) kinds.insert(kinds.end(), 5, 1);
  if (on_.collective) kinds.insert(kinds.end(), 2, 2);
  if (has_sync_window_) kinds.insert(kinds.end(), 4, 3);
  const int from = random_.below(size_);
  const int to = size_ > 1 ? (from + 1 + random_.below(size_ - 1)) % size_ : from;
  const int kind = random_.pick(kinds);
  if (kind == 0 || from == to) {
    global_sync();
    return;
  }
  // What is told should be worth knowing: complete writes first, sometimes.
  if (random_.chance(50)) {
    for (int w : open_) {
      const Window& window = *windows_[static_cast<std::size_t>(w)];
      if (window.regime != Regime::kLockAll || window.read_only) continue;
      const InCallback callback(*this);
      operation(from, w, everybody(), false, false);
      emit(
          from,
          [w](World& world) { MPI_Win_flush_all(world.windows[static_cast<std::size_t>(w)].win); },
          "w%d: flush_all", w);
      complete(from, w, -1, true);
    }
  }
  {
    const InCallback callback(*this);
    if (kind == 1)
      message(from, to);
    else if (kind == 2)
      random_.chance(50) ? one_to_all() : all_to_one();
    else
      flag(from, to);
  }
  // And looked at at once.
  for (int w : open_) {
    const Window& window = *windows_[static_cast<std::size_t>(w)];
    if (window.regime != Regime::kLockAll) continue;
    for (int i = random_.below(4); i > 0; --i) operation(to, w, everybody(), true, false);
    if (random_.chance(50)) completion_event(to, w);
  }
}

/// Gets of `rank` with no defined outcome, up to the moment when it learns something.
void Generator::warm_up(int rank) {
  if (!on_.warm || !on_.write) return;
  for (int w : open_) {
    const Window& window = *windows_[static_cast<std::size_t>(w)];
    if (window.regime != Regime::kLockAll) continue;
    for (int i = random_.below(4); i > 0; --i) operation(rank, w, everybody(), true, true);
    if (random_.chance(60)) {
      emit(
          rank,
          [w](World& world) { MPI_Win_flush_all(world.windows[static_cast<std::size_t>(w)].win); },
          "w%d: flush_all", w);
      complete(rank, w, -1, true);
    }
  }
}

void Generator::message(int from, int to) {
  const int tag = ++tag_ % 30000;
  if (random_.chance(15)) {
    // The sender learns: a synchronous send has waited for its receiver.
    const bool blocking = random_.chance(50);
    warm_up(to);
    emit(
        from, [=](World& world) { receive(world, to, tag, 0); },
        "receive from %d, so that it knows", to);
    emit(
        to, [=](World& world) { send(world, from, tag, blocking ? 1 : 3, 1); },
        "synchronous send to %d, who was ready", from);
    inform(from, to);
    return;
  }
  if (on_.warm && random_.chance(30)) {
    // Posted early, gets in between, completed late.
    const int request = requests_++;
    const int cell = request;
    emit(
        to,
        [=](World& world) {
          MPI_Irecv(nullptr, 0, MPI_INT, from, tag, world.comm,
                    &world.requests[static_cast<std::size_t>(cell)]);
        },
        "post a receive from %d, request %d", from, request);
    warm_up(to);
    const int form = random_.below(3);
    emit(
        from, [=](World& world) { send(world, to, tag, 0, 0); }, "send to %d", to);
    warm_up(to);
    emit(
        to,
        [=](World& world) {
          MPI_Request& own = world.requests[static_cast<std::size_t>(cell)];
          int flag = 0;
          int index = 0;
          if (form == 0)
            MPI_Wait(&own, MPI_STATUS_IGNORE);
          else if (form == 1)
            MPI_Waitany(1, &own, &index, MPI_STATUS_IGNORE);
          while (form == 2 && !flag) MPI_Test(&own, &flag, MPI_STATUS_IGNORE);
        },
        "complete request %d, form %d", request, form);
    inform(from, to);
    return;
  }
  const int how = random_.below(5);
  const int form = random_.below(kReceiveForms);
  const int count = form == 1 ? 0 : 1;
  if (random_.chance(50)) warm_up(to);
  emit(
      from, [=](World& world) { send(world, to, tag, how, count); }, "send to %d, form %d, tag %d",
      to, how, tag);
  if (random_.chance(50)) warm_up(to);
  emit(
      to, [=](World& world) { receive(world, from, tag, form); },
      "receive from %d, form %d, tag %d", from, form, tag);
  inform(from, to);
}

void Generator::flag(int from, int to) {
  const int homes[] = {from, to, random_.below(size_)};
  int home = homes[random_.below(3)];
  const int cell = from * size_ + to;
  const bool lock_all = sync_lock_all_;
  // Plain puts and gets of the flag need exclusion; polling own memory needs an open epoch.
  std::vector<int> forms = {1, 2, 3};
  if (!lock_all && on_.exclusive) forms.push_back(0);
  if (lock_all) forms.push_back(4);
  const int form = random_.pick(forms);
  if (form == 4) home = to;
  const int how = form == 0 ? 0 : 1 + random_.below(3);
  const std::int64_t value = ++flag_value_;
  if (random_.chance(70)) warm_up(to);
  emit(
      from, [=](World& world) { set_flag(world, home, cell, value, how, lock_all); },
      "flag %lld for %d at %d, form %d", static_cast<long long>(value), to, home, how);
  emit(
      to, [=](World& world) { await_flag(world, home, cell, value, form, lock_all); },
      "await flag %lld at %d, form %d", static_cast<long long>(value), home, form);
  inform(from, to);
}

void Generator::one_to_all() {
  const int root = random_.below(size_);
  const int form = random_.below(4);
  for (int r = 0; r < size_; ++r) {
    if (r != root && random_.chance(50)) warm_up(r);
  }
  for (int r = 0; r < size_; ++r) {
    emit(
        r,
        [=](World& world) {
          std::vector<int> data(static_cast<std::size_t>(world.size), 5);
          int own = 0;
          int flag = 0;
          MPI_Request request = MPI_REQUEST_NULL;
          switch (form) {
            case 0:
              MPI_Bcast(&own, 1, MPI_INT, root, world.comm);
              break;
            case 1:
              MPI_Scatter(data.data(), 1, MPI_INT, &own, 1, MPI_INT, root, world.comm);
              break;
            case 2:
              MPI_Ibcast(&own, 1, MPI_INT, root, world.comm, &request);
              while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
              break;
            default:
              MPI_Iscatter(data.data(), 1, MPI_INT, &own, 1, MPI_INT, root, world.comm, &request);
              MPI_Wait(&request, MPI_STATUS_IGNORE);
              break;
          }
        },
        "from %d to all, form %d", root, form);
  }
  for (int r = 0; r < size_; ++r) {
    if (r != root) inform(root, r);
  }
}

void Generator::all_to_one() {
  const int root = random_.below(size_);
  const int form = random_.below(3);
  if (random_.chance(50)) warm_up(root);
  for (int r = 0; r < size_; ++r) {
    emit(
        r,
        [=](World& world) {
          std::vector<int> data(static_cast<std::size_t>(world.size), 5);
          const int own = 1;
          int sum = 0;
          MPI_Request request = MPI_REQUEST_NULL;
          switch (form) {
            case 0:
              MPI_Gather(&own, 1, MPI_INT, data.data(), 1, MPI_INT, root, world.comm);
              break;
            case 1:
              MPI_Reduce(&own, &sum, 1, MPI_INT, MPI_SUM, root, world.comm);
              break;
            default:
              MPI_Igather(&own, 1, MPI_INT, data.data(), 1, MPI_INT, root, world.comm, &request);
              MPI_Wait(&request, MPI_STATUS_IGNORE);
              break;
          }
        },
        "from all to %d, form %d", root, form);
  }
  for (int r = 0; r < size_; ++r) {
    if (r != root) inform(r, root);
  }
}

}  // namespace fuzz
