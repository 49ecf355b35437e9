// Windows over memory that is mapped in any way, and whose owner changes whole pages without
// storing to them: by other mappings, through files, by what is committed later. For MPI each of
// these is a store of the owner's, made visible as a store is.

#include <algorithm>
#include <utility>
#include <vector>

#include "generate.hpp"

namespace fuzz {

bool Generator::strange() const {
  return on_.mapped || on_.holes || on_.sparse || on_.remap || on_.madvise;
}

/// A window of MPI_Win_create over pages: what they are, and what lies among and behind them.
void Generator::choose_pages(Memory& memory, int& bytes) {
  const int pages = 1 + random_.below(8);
  bytes = pages * kPage;
  Page kind = Page::kPrivate;
  if (on_.mapped)
    kind = random_.pick(std::vector<Page>{Page::kPrivate, Page::kPrivate, Page::kShared,
                                          Page::kFile, Page::kPrivateFile});
  memory.pages.assign(static_cast<std::size_t>(pages), kind);
  if (on_.holes && pages > 2 && random_.chance(60)) {
    const int first = 1 + random_.below(pages - 2);
    const int number = 1 + random_.below(pages - 1 - first);
    std::fill_n(memory.pages.begin() + first, number, Page::kHole);
  }
  std::vector<Tail> tails = {Tail::kNone};
  if (on_.holes) tails.push_back(Tail::kReserved);
  if (on_.sparse) tails.push_back(Tail::kUntouched);
  memory.tail = random_.pick(tails);
}

/// Nobody reads or writes what is not there.
void Generator::note_hole(Memory& memory) {
  for (std::size_t p = 0; p < memory.pages.size(); ++p) {
    if (memory.pages[p] != Page::kHole) continue;
    for (std::size_t b = p * kPage / kBlock; b < (p + 1) * kPage / kBlock; ++b) {
      memory.known[b] = 0;
      memory.pending[b] = 1;
    }
  }
}

std::vector<Change> Generator::changes_of(Page page) const {
  std::vector<Change> all;
  if (page == Page::kHole) {
    if (on_.holes) all = {Change::kMoved, Change::kMapped};
    return all;
  }
  if (on_.remap) all = {Change::kMoved, Change::kMapped, Change::kShared, Change::kProtected};
  if (on_.mapped) all.push_back(Change::kRead);
  if (on_.mapped && page == Page::kFile) all.insert(all.end(), 2, Change::kWritten);
  if (on_.madvise && page == Page::kPrivate) all.insert(all.end(), 2, Change::kDropped);
  if (on_.madvise && page == Page::kFile) all.push_back(Change::kPunched);
  return all;
}

/// The owner of some memory changes pages of it that others have read, and everybody looks again.
void Generator::change_of_pages() {
  std::vector<std::pair<int, int>> candidates;  // window, owner
  for (int w : open_) {
    const Window& window = *windows_[static_cast<std::size_t>(w)];
    if (!passive(w) || read_only(w) || !others_over(w).empty() ||
        (window.regime == Regime::kLock && window.shared_only))
      continue;
    for (int r = 0; r < size_; ++r)
      if (!window.memory(r).pages.empty()) candidates.emplace_back(w, r);
  }
  if (!on_.write || candidates.empty()) return;
  const std::pair<int, int> chosen = random_.pick(candidates);
  const int id = chosen.first, owner = chosen.second;
  Window& window = *windows_[static_cast<std::size_t>(id)];
  Memory& memory = window.memory(owner);
  // Copies that outlive one synchronisation, and are wrong after the next.
  for (int rounds = random_.chance(60) ? 2 + random_.below(2) : 0; rounds > 0; --rounds) {
    look_at(id, owner);
    global_sync();
  }
  if (random_.chance(50)) global_sync();
  // Rather where others have been.
  int page = random_.below(static_cast<int>(memory.pages.size()));
  std::vector<int> read;
  for (const Template& place : templates_[window.root])
    if (place.target == owner) read.push_back(static_cast<int>(place.start / kPage));
  if (!read.empty() && random_.chance(70)) page = random_.pick(read);
  const Page kind = memory.pages[static_cast<std::size_t>(page)];
  const std::vector<Change> choices = changes_of(kind);
  if (choices.empty()) return;
  const Change change = random_.pick(choices);
  int pages = 1;
  while (page + pages < static_cast<int>(memory.pages.size()) &&
         memory.pages[static_cast<std::size_t>(page + pages)] == kind && random_.chance(40))
    ++pages;
  Blocks blocks;
  for (int b = page * kPage / kBlock; b < (page + pages) * kPage / kBlock; ++b) blocks.push_back(b);
  if (kind != Page::kHole &&
      (!may_write(memory, blocks, owner) || own_gets_overlap(owner, id, owner, blocks)))
    return;
  const int operation = ++operations_;
  if (kind == Page::kHole) {
    for (int b : blocks) memory.writers[static_cast<std::size_t>(b)] = Ranks{1} << owner;
  } else {
    begin_write(memory, blocks, owner, 0);
  }
  complete_write(memory, blocks, owner, owner);
  std::vector<std::uint8_t> data(static_cast<std::size_t>(pages) * kPage);
  for (std::size_t i = 0; !makes_zeros(change) && i < data.size(); ++i)
    data[i] = static_cast<std::uint8_t>(mix(seed_ + static_cast<std::uint64_t>(operation)) >>
                                        (i % 8 * 8)) ^
              static_cast<std::uint8_t>(i / 8);
  std::copy(data.begin(), data.end(), memory.bytes.begin() + page * kPage);
  std::fill_n(memory.pages.begin() + page, pages, after(change, kind));
  window.stored = true;
  const bool lock = window.regime == Regime::kLock;
  emit(
      owner,
      [=](World& world) {
        LiveWindow& live = world.windows[static_cast<std::size_t>(id)];
        if (lock)
          MPI_Win_lock(MPI_LOCK_EXCLUSIVE, owner, 0, live.win);
        else
          MPI_Win_sync(live.win);
        change_pages(world.mappings, live.memory, static_cast<std::size_t>(page) * kPage,
                     data.size(), data.data(), change);
        if (lock)
          MPI_Win_unlock(owner, live.win);
        else
          MPI_Win_sync(live.win);
      },
      "op %d: change %d of %d pages of w%d from %d", operation, static_cast<int>(change), pages, id,
      page);
  if (random_.chance(80)) global_sync();
  look_at(id, owner);
}

/// Everybody reads the owner's memory, mostly where somebody has been.
void Generator::look_at(int id, int owner) {
  if (windows_[static_cast<std::size_t>(id)]->regime != Regime::kLockAll) return;
  reading_ = true;
  for (int r = 0; r < size_; ++r) {
    for (int i = 1 + random_.below(4); i > 0; --i) operation(r, id, Ranks{1} << owner, true, false);
    if (random_.chance(80)) completion_event(r, id);
  }
  reading_ = false;
}

}  // namespace fuzz
