// Several windows over one memory: MPI_Win_create over what another window shows, whole or a part.
//
// All of them show one Memory of the model, so that what is read through one has to follow what was
// written through the others: complete at the target, and known to the reader, as everywhere. Two
// accesses of which one writes never meet through two windows, accumulates included. A store is
// told to every window over it, in an epoch of its own; where one of them is in an active epoch,
// there are no stores.

#include <algorithm>

#include "generate.hpp"

namespace fuzz {

std::vector<int> Generator::others_over(int id) const {
  std::vector<int> others;
  for (int w : open_) {
    if (w != id &&
        windows_[static_cast<std::size_t>(w)]->root == windows_[static_cast<std::size_t>(id)]->root)
      others.push_back(w);
  }
  return others;
}

/// Whether somebody has promised not to write to the memory that the window shows.
bool Generator::read_only(int id) const {
  const std::vector<int> others = others_over(id);
  return windows_[static_cast<std::size_t>(id)]->read_only ||
         std::any_of(others.begin(), others.end(),
                     [&](int w) { return windows_[static_cast<std::size_t>(w)]->read_only; });
}

bool Generator::passive(int id) const {
  const Regime regime = windows_[static_cast<std::size_t>(id)]->regime;
  return regime == Regime::kLock || regime == Regime::kLockAll;
}

/// What `rank` stored becomes visible through the window, and to `rank` what others wrote.
void Generator::synchronise_own(int rank, int id) {
  const bool lock_all = windows_[static_cast<std::size_t>(id)]->regime == Regime::kLockAll;
  emit(
      rank,
      [id, lock_all](World& world) {
        MPI_Win win = world.windows[static_cast<std::size_t>(id)].win;
        if (!lock_all) MPI_Win_lock(MPI_LOCK_SHARED, world.rank, 0, win);
        MPI_Win_sync(win);
        if (!lock_all) MPI_Win_unlock(world.rank, win);
      },
      "w%d: sync", id);
}

void Generator::create_alias() {
  std::vector<int> candidates;
  for (int w : open_) {
    if (windows_[static_cast<std::size_t>(w)]->kind != WindowKind::kDynamic &&
        others_over(w).size() < 3)
      candidates.push_back(w);
  }
  if (candidates.empty()) return;
  const int over = random_.pick(candidates);
  const Window& shown_by = *windows_[static_cast<std::size_t>(over)];
  auto window = std::make_unique<Window>();
  const int id = static_cast<int>(windows_.size());
  window->id = id;
  window->root = shown_by.root;
  window->alias = ++windows_[static_cast<std::size_t>(shown_by.root)]->aliases;
  window->kind = WindowKind::kCreate;
  window->memories = shown_by.memories;
  window->access.assign(static_cast<std::size_t>(size_), 0);
  window->big = shown_by.big;
  window->shared_only = on_.asserts && random_.chance(30);
  static const std::vector<int> units = {1, 1, 2, 4, 8, 8, 3, 16};
  for (int r = 0; r < size_; ++r) {
    Shown shown;
    const int all = window->memory(r).size();
    shown.unit = random_.pick(units);
    shown.size = all;
    if (all > kBlock && random_.chance(50)) {
      shown.first = random_.below(all / kBlock) * kBlock;
      shown.size = 1 + random_.below(all - shown.first);
    }
    window->shown.push_back(shown);
  }
  static const std::vector<const char*> modes = {nullptr, nullptr, "auto", "strict", "off"};
  const char* const mode = random_.pick(modes);
  for (int r = 0; r < size_; ++r) {
    const Shown shown = window->part(r);
    emit(
        r,
        [=](World& world) {
          LiveWindow live;
          live.memory = world.windows[static_cast<std::size_t>(over)].memory;
          MPI_Info info = MPI_INFO_NULL;
          if (mode != nullptr) {
            MPI_Info_create(&info);
            MPI_Info_set(info, "hob_cache", mode);
          }
          MPI_Win_create(shown.size > 0 ? live.memory + shown.first : nullptr, shown.size,
                         shown.unit, info, world.comm, &live.win);
          if (mode != nullptr) MPI_Info_free(&info);
          world.windows.resize(static_cast<std::size_t>(id) + 1);
          world.windows[static_cast<std::size_t>(id)] = live;
        },
        "w%d: new window over w%d, byte %d + %d, unit %d, hob_cache %s", id, over, shown.first,
        shown.size, shown.unit, mode == nullptr ? "not set" : mode);
  }
  windows_.push_back(std::move(window));
  open_.push_back(id);
  publish(id);
}

/// Reads through one window, writes the same places of the same target through another one, and
/// reads again as soon as that is complete: nothing else tells `rank` that they changed.
void Generator::alias_event(int rank) {
  std::vector<std::pair<int, int>> pairs;
  for (int read : open_) {
    for (int written : others_over(read)) {
      if (windows_[static_cast<std::size_t>(read)]->regime == Regime::kLockAll &&
          windows_[static_cast<std::size_t>(written)]->regime == Regime::kLockAll)
        pairs.emplace_back(read, written);
    }
  }
  if (pairs.empty()) return;
  const auto [read, written] = random_.pick(pairs);
  const int target = random_.below(size_);
  const Ranks targets = Ranks{1} << target;
  const auto flush = [&](int w) {
    const bool all = random_.chance(30);
    emit(
        rank,
        [=, w = w](World& world) {
          MPI_Win win = world.windows[static_cast<std::size_t>(w)].win;
          all ? MPI_Win_flush_all(win) : MPI_Win_flush(target, win);
        },
        "w%d: flush %d", w, all ? -1 : target);
    complete(rank, w, all ? -1 : target, true);
  };
  templates_[windows_[static_cast<std::size_t>(read)]->root]
      .clear();  // few places, so that they meet
  reading_ = true;
  for (int i = 1 + random_.below(3); i > 0; --i) get(rank, read, targets, false, false);
  flush(read);
  for (int rounds = 1 + random_.below(3); rounds > 0; --rounds) {
    for (int i = 1 + random_.below(3); i > 0 && on_.write && !read_only(written); --i) {
      if (random_.chance(75) || !on_.accumulate)
        put(rank, written, target);
      else
        accumulate(rank, written, target, false);
    }
    if (random_.chance(40)) {
      get(rank, read, targets, false, true);
      if (random_.chance(70)) flush(read);
    }
    if (random_.chance(30)) wait_requests(rank, true);
    flush(written);
    for (int i = 1 + random_.below(3); i > 0; --i) get(rank, read, targets, false, false);
    flush(read);
  }
  reading_ = false;
}

}  // namespace fuzz
