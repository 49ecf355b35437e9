#include "generate.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "callbacks.hpp"

namespace fuzz {

namespace {

struct Name {
  const char* name;
  bool Features::*member;
};

const Name kNames[] = {
    {"create", &Features::create},
    {"allocate", &Features::allocate},
    {"shared", &Features::shared},
    {"dynamic", &Features::dynamic},
    {"lock", &Features::lock},
    {"lockall", &Features::lockall},
    {"fence", &Features::fence},
    {"pscw", &Features::pscw},
    {"request", &Features::request},
    {"types", &Features::types},
    {"write", &Features::write},
    {"accumulate", &Features::accumulate},
    {"fetch", &Features::fetch},
    {"store", &Features::store},
    {"p2p", &Features::p2p},
    {"collective", &Features::collective},
    {"atomics", &Features::atomics},
    {"warm", &Features::warm},
    {"late_wait", &Features::late_wait},
    {"attach", &Features::attach},
    {"recreate", &Features::recreate},
    {"asserts", &Features::asserts},
    {"exclusive", &Features::exclusive},
    {"big", &Features::big},
    {"bursts", &Features::bursts},
    {"flush_local", &Features::flush_local},
    {"nocheck", &Features::nocheck},
    {"typed_request", &Features::typed_request},
    {"callbacks", &Features::callbacks},
    {"exceptions", &Features::exceptions},
    {"finalize", &Features::finalize},
    {"aliases", &Features::aliases},
    {"phases", &Features::phases},
    {"recurring", &Features::recurring},
    {"fork", &Features::fork},
    {"mapped", &Features::mapped},
    {"holes", &Features::holes},
    {"sparse", &Features::sparse},
    {"remap", &Features::remap},
    {"madvise", &Features::madvise},
    {"atexit", &Features::atexit},
    {"destructor", &Features::destructor},
    {"tls", &Features::tls},
    {"thread_end", &Features::thread_end},
    {"spawn", &Features::spawn},
    {"bare", &Features::bare},
};

/// The bytes that window memory starts with.
std::uint8_t initial(std::uint64_t seed, int window, int rank, int generation, std::size_t i) {
  const std::uint64_t word = mix(seed ^
                                 mix(static_cast<std::uint64_t>(window * 64 + rank) * 1024 +
                                     static_cast<std::uint64_t>(generation)) ^
                                 (i / 8));
  return static_cast<std::uint8_t>(word >> (i % 8 * 8));
}

void group_of(World& world, Ranks ranks, MPI_Group* group) {
  MPI_Group all;
  MPI_Comm_group(world.comm, &all);
  int list[32];
  int count = 0;
  for (int r = 0; r < world.size; ++r) {
    if (ranks >> r & 1) list[count++] = r;
  }
  MPI_Group_incl(all, count, list, group);
  MPI_Group_free(&all);
}

const char* regime_name(Regime regime) {
  switch (regime) {
    case Regime::kLock:
      return "lock";
    case Regime::kLockAll:
      return "lock_all";
    case Regime::kFence:
      return "fence";
    case Regime::kPscw:
      return "pscw";
    default:
      return "none";
  }
}

}  // namespace

bool* Features::find(const std::string& name) {
  for (const Name& n : kNames) {
    if (name == n.name) return &(this->*n.member);
  }
  return nullptr;
}

const std::vector<std::string>& Features::names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list;
    for (const Name& n : kNames) list.emplace_back(n.name);
    return list;
  }();
  return all;
}

void Features::clear() {
  for (const Name& n : kNames) this->*n.member = false;
}

Generator::Generator(const Options& options, std::uint64_t seed, int rank, int size, bool one_node)
    : options_(options),
      on_(options_.features),
      random_(seed),
      seed_(seed),
      rank_(rank),
      size_(size),
      one_node_(one_node),
      into_(&script_) {
  const auto n = static_cast<std::size_t>(size);
  outstanding_.resize(n);
  unchecked_.resize(n);
  slot_used_.assign(n, std::vector<bool>(kSlots, false));
  held_slots_.resize(n);
}

void Generator::emit(int rank, std::function<void(World&)> run, const char* format, ...) {
  if (rank != rank_) return;
  Action action;
  action.run = std::move(run);
  if (callback_ != 0)
    action.run = [kind = callback_, inner = std::move(action.run)](World& world) {
      in_callback(world.comm, kind, [&] { inner(world); });
    };
  if (options_.verbose) {
    char text[400];
    va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    action.text = text;
  }
  into_->push_back(std::move(action));
}

// Without these features no random number is drawn: programs of a seed stay what they were.
Generator::InCallback::InCallback(Generator& generator) : generator_(generator) {
  const Features& on = generator.on_;
  if (!(on.callbacks || on.exceptions) || generator.threaded_ || !generator.random_.chance(40))
    return;
  std::vector<int> kinds;
  if (on.callbacks) kinds = {kDeleteAttribute, kReplaceAttribute, kErrorHandler, kCancel};
  if (on.exceptions) kinds.push_back(kThrowing);
  generator.callback_ = generator.random_.pick(kinds);
}

Script Generator::run() {
  if (on_.atomics && random_.chance(45)) {
    has_sync_window_ = true;
    sync_lock_all_ = random_.chance(60) || !on_.lock;
    const bool lock_all = sync_lock_all_;
    for (int r = 0; r < size_; ++r) {
      emit(
          r,
          [lock_all](World& world) {
            MPI_Win win;
            const MPI_Aint bytes =
                static_cast<MPI_Aint>(sizeof(std::int64_t)) * world.size * world.size;
            MPI_Win_allocate(bytes, sizeof(std::int64_t), MPI_INFO_NULL, world.comm, &world.flags,
                             &win);
            std::memset(world.flags, 0, static_cast<std::size_t>(bytes));
            MPI_Barrier(world.comm);
            if (lock_all) MPI_Win_lock_all(0, win);
            world.sync_window.push_back(win);
          },
          "flags: win_allocate%s", lock_all ? ", lock_all" : "");
    }
  }
  const int windows = 1 + random_.below(3);
  for (int w = 0; w < windows; ++w) create_window();
  for (int a = on_.aliases ? 1 + random_.below(3) : 0; a > 0; --a) create_alias();

  const int phases = 2 + random_.below(4);
  int events_left = options_.events;
  for (int phase = 0; phase < phases && events_left > 0; ++phase) {
    for (int w : open_) {
      Window& window = *windows_[static_cast<std::size_t>(w)];
      if (window.regime == Regime::kLockAll && random_.chance(40)) continue;
      std::vector<Regime> choices;
      for (Regime regime :
           {Regime::kLock, Regime::kLockAll, Regime::kLockAll, Regime::kFence, Regime::kPscw}) {
        if (fits(w, regime)) choices.push_back(regime);
      }
      leave_regime(w);
      enter_after_.push_back({w, random_.pick(choices)});
    }
    global_sync();
    for (const auto& [w, regime] : enter_after_) enter_regime(w, regime);
    enter_after_.clear();

    const int events = 1 + options_.operations / phases / 3;
    for (int e = 0; e < events && events_left > 0; ++e, --events_left) {
      if (on_.aliases && random_.chance(25)) {
        alias_event(random_.below(size_));
        continue;
      }
      if (on_.phases && random_.chance(e == 0 ? 80 : 8)) {
        stretches();
        continue;
      }
      if (on_.recurring && random_.chance(e == 0 ? 80 : 15)) {
        recurring_phases();
        continue;
      }
      if (strange() && random_.chance(25)) {
        change_of_pages();
        continue;
      }
      if (on_.fork && random_.chance(8)) fork_child(random_.below(size_), random_.pick(open_));
      const int w = random_.pick(open_);
      Window& window = *windows_[static_cast<std::size_t>(w)];
      const int roll = random_.below(100);
      if (roll < 72) {
        burst(random_.below(size_), w);
      } else if (roll < 80 && window.regime == Regime::kFence) {
        fence(w, false);
      } else if (roll < 88 && window.regime == Regime::kPscw) {
        if (window.opened)
          pscw_end(w);
        else
          pscw_begin(w);
      } else if (roll < 82 && options_.threads > 1 &&
                 (window.regime == Regime::kLockAll ||
                  (window.regime == Regime::kLock && !on_.write && on_.lockall))) {
        threaded_burst(random_.below(size_), w);
      } else if (roll < 88 && options_.threads > 1 && on_.bursts && on_.write && passive(w)) {
        writing_burst(random_.below(size_), w);
      } else {
        sync_event();
      }
    }
    if (on_.fork) await_children();
    for (int r = 0; r < size_; ++r) late_checks(r);
    if (on_.attach && on_.write && random_.chance(40)) {
      const int w = random_.pick(open_);
      if (windows_[static_cast<std::size_t>(w)]->kind == WindowKind::kDynamic) change_regions(w);
    }
    if (on_.recreate && random_.chance(15)) {
      close_window(random_.pick(open_));
      create_window();
    }
    if (on_.aliases && random_.chance(25)) create_alias();
  }
  for (int w : open_) leave_regime(w);
  for (int r = 0; r < size_; ++r) {
    wait_requests(r, true);
    late_checks(r);
  }
  while (!open_.empty()) close_window(open_.front());
  for (int r = 0; r < size_; ++r) {
    emit(
        r,
        [lock_all = sync_lock_all_](World& world) {
          for (MPI_Win& win : world.sync_window) {
            if (lock_all) MPI_Win_unlock_all(win);
            MPI_Win_free(&win);
          }
          world.sync_window.clear();
        },
        "flags: free");
  }
  return std::move(script_);
}

bool Generator::fits(int w, Regime regime) const {
  (void)w;
  switch (regime) {
    case Regime::kLock:
      return on_.lock;
    case Regime::kLockAll:
      return on_.lockall;
    case Regime::kFence:
      return on_.fence;
    case Regime::kPscw:
      return on_.pscw;
    default:
      return false;
  }
}

void Generator::create_window() {
  std::vector<WindowKind> kinds;
  if (on_.create) kinds.insert(kinds.end(), 3, WindowKind::kCreate);
  if (on_.allocate) kinds.insert(kinds.end(), 3, WindowKind::kAllocate);
  if (on_.shared && one_node_) kinds.insert(kinds.end(), 1, WindowKind::kShared);
  if (on_.dynamic) kinds.insert(kinds.end(), 2, WindowKind::kDynamic);
  if (kinds.empty()) kinds.push_back(WindowKind::kCreate);

  auto window = std::make_unique<Window>();
  const int id = static_cast<int>(windows_.size());
  window->id = id;
  window->root = id;
  window->kind = random_.pick(kinds);
  window->access.assign(static_cast<std::size_t>(size_), 0);
  window->big = on_.big && random_.chance(options_.threads > 1 && on_.bursts ? 20 : 6);
  // For the window's whole life: after one shared lock with MPI_MODE_NOCHECK, MPICH never tells
  // that target of an unlock again, and the next exclusive lock waits for ever.
  window->shared_only = on_.asserts && random_.chance(30);
  static const std::vector<int> sizes = {0, 64, 200, 512, 1024, 1024, 2048, 4096, 4096, 8192};
  static const std::vector<int> units = {1, 1, 1, 2, 4, 8, 8, 3, 12, 16};
  for (int r = 0; r < size_; ++r) {
    Memory memory;
    Shown shown;
    int bytes = window->big ? 262144 : random_.pick(sizes);
    if (r == 0 && bytes == 0) bytes = 1024;
    if (window->kind == WindowKind::kCreate && !window->big && strange() && random_.chance(75))
      choose_pages(memory, bytes);
    if (window->kind == WindowKind::kDynamic) {
      memory.regions = 1 + random_.below(3);
      bytes = (bytes / memory.regions / 16) * 16 * memory.regions;
    } else {
      shown.unit = random_.pick(units);
    }
    memory.resize(static_cast<std::size_t>(bytes), everybody());
    note_hole(memory);
    for (std::size_t i = 0; i < memory.bytes.size(); ++i)
      memory.bytes[i] = initial(seed_, id, r, 0, i);
    shown.size = bytes;
    window->memories->push_back(std::move(memory));
    window->shown.push_back(shown);
  }
  const WindowKind kind = window->kind;
  for (int r = 0; r < size_; ++r) {
    const MPI_Aint bytes = window->part(r).size;
    const int unit = window->part(r).unit;
    const int regions = window->memory(r).regions;
    const std::vector<Page> pages = window->memory(r).pages;
    const Tail tail = window->memory(r).tail;
    const auto is_hole = [](Page page) { return page == Page::kHole; };
    const auto hole = std::find_if(pages.begin(), pages.end(), is_hole) - pages.begin();
    const auto hole_pages = std::count_if(pages.begin(), pages.end(), is_hole);
    emit(
        r,
        [=, seed = seed_](World& world) {
          LiveWindow live;
          switch (kind) {
            case WindowKind::kCreate:
              if (!pages.empty()) {
                live.memory =
                    map_pages(world.mappings, pages.front(), static_cast<std::size_t>(bytes),
                              static_cast<std::size_t>(hole) * kPage,
                              static_cast<std::size_t>(hole_pages) * kPage, tail);
                MPI_Win_create(live.memory, bytes + static_cast<MPI_Aint>(tail_bytes(tail)), unit,
                               MPI_INFO_NULL, world.comm, &live.win);
                break;
              }
              live.memory = bytes > 0 ? static_cast<std::uint8_t*>(std::aligned_alloc(
                                            64, (static_cast<std::size_t>(bytes) + 63) / 64 * 64))
                                      : nullptr;
              MPI_Win_create(live.memory, bytes, unit, MPI_INFO_NULL, world.comm, &live.win);
              break;
            case WindowKind::kAllocate:
              MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, world.comm, &live.memory, &live.win);
              break;
            case WindowKind::kShared:
              MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, world.comm, &live.memory,
                                      &live.win);
              for (int q = 0; q < world.size; ++q) {
                MPI_Aint size_there;
                int unit_there;
                std::uint8_t* base;
                MPI_Win_shared_query(live.win, q, &size_there, &unit_there, &base);
                live.direct.push_back(base);
              }
              break;
            case WindowKind::kDynamic:
              MPI_Win_create_dynamic(MPI_INFO_NULL, world.comm, &live.win);
              live.addresses.resize(static_cast<std::size_t>(world.size));
              for (int k = 0; k < regions && bytes > 0; ++k) {
                const std::size_t part = static_cast<std::size_t>(bytes / regions);
                auto* region =
                    static_cast<std::uint8_t*>(std::aligned_alloc(64, (part + 63) / 64 * 64));
                MPI_Win_attach(live.win, region, static_cast<MPI_Aint>(part));
                live.regions.push_back(region);
              }
              break;
          }
          for (std::size_t i = 0; i < static_cast<std::size_t>(bytes); ++i) {
            if (!pages.empty() && pages[i / kPage] == Page::kHole) continue;
            const std::size_t part = static_cast<std::size_t>(bytes / regions);
            std::uint8_t& byte =
                live.memory != nullptr ? live.memory[i] : live.regions[i / part][i % part];
            byte = initial(seed, id, world.rank, 0, i);
          }
          world.windows.resize(static_cast<std::size_t>(id) + 1);
          world.windows[static_cast<std::size_t>(id)] = live;
        },
        "w%d: new window, kind %d, %ld bytes, unit %d, regions %d", id, static_cast<int>(kind),
        static_cast<long>(bytes), unit, regions);
  }
  windows_.push_back(std::move(window));
  open_.push_back(id);
  if (kind == WindowKind::kDynamic) share_addresses(id);
  publish(id);
}

/// What was stored before becomes visible: a lock of one's own memory, then a barrier.
void Generator::publish(int id) {
  for (int r = 0; r < size_; ++r) {
    emit(
        r,
        [id](World& world) {
          MPI_Win win = world.windows[static_cast<std::size_t>(id)].win;
          MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world.rank, 0, win);
          MPI_Win_unlock(world.rank, win);
          MPI_Barrier(world.comm);
        },
        "w%d: publish", id);
  }
  after_global_sync();
}

void Generator::share_addresses(int id) {
  std::vector<int> regions;
  for (const Memory& memory : *windows_[static_cast<std::size_t>(id)]->memories)
    regions.push_back(memory.size() > 0 ? memory.regions : 0);
  for (int r = 0; r < size_; ++r) {
    emit(
        r,
        [id, regions](World& world) {
          LiveWindow& live = world.windows[static_cast<std::size_t>(id)];
          MPI_Aint own[4] = {0, 0, 0, 0};
          for (std::size_t k = 0; k < live.regions.size(); ++k)
            MPI_Get_address(live.regions[k], &own[k]);
          std::vector<MPI_Aint> all(static_cast<std::size_t>(world.size) * 4);
          MPI_Allgather(own, 4, MPI_AINT, all.data(), 4, MPI_AINT, world.comm);
          for (std::size_t q = 0; q < regions.size(); ++q) {
            live.addresses[q].assign(all.begin() + static_cast<std::ptrdiff_t>(q * 4),
                                     all.begin() + static_cast<std::ptrdiff_t>(q * 4) + regions[q]);
          }
        },
        "w%d: exchange addresses", id);
  }
}

void Generator::change_regions(int id) {
  Window& window = *windows_[static_cast<std::size_t>(id)];
  leave_regime(id);
  for (int r = 0; r < size_; ++r) late_checks(r);
  global_sync();
  const int owner = random_.below(size_);
  Memory& memory = window.memory(owner);
  if (memory.size() > 0) {
    const int k = random_.below(memory.regions);
    const int part = memory.size() / memory.regions;
    const int generation = ++generation_;
    for (int i = 0; i < part; ++i)
      memory.bytes[static_cast<std::size_t>(k * part + i)] =
          initial(seed_, id, owner, generation, static_cast<std::size_t>(i));
    const bool same_memory = random_.chance(40);
    emit(
        owner,
        [=, seed = seed_](World& world) {
          LiveWindow& live = world.windows[static_cast<std::size_t>(id)];
          std::uint8_t*& region = live.regions[static_cast<std::size_t>(k)];
          MPI_Win_detach(live.win, region);
          if (!same_memory) {
            std::free(region);
            region = static_cast<std::uint8_t*>(
                std::aligned_alloc(64, (static_cast<std::size_t>(part) + 63) / 64 * 64));
          }
          for (std::size_t i = 0; i < static_cast<std::size_t>(part); ++i)
            region[i] = initial(seed, id, world.rank, generation, i);
          MPI_Win_attach(live.win, region, part);
        },
        "w%d: detach and attach region %d", id, k);
  }
  share_addresses(id);
  global_sync();
}

/// A window ends, with those that show memory of it that MPI gave.
void Generator::close_window(int id) {
  const Window& window = *windows_[static_cast<std::size_t>(id)];
  if (window.kind != WindowKind::kCreate) {
    for (int other : others_over(id)) close_window(other);
  }
  leave_regime(id);
  free_window(id);
  open_.erase(std::find(open_.begin(), open_.end(), id));
}

void Generator::free_window(int id) {
  const Window& window = *windows_[static_cast<std::size_t>(id)];
  const bool last = windows_[static_cast<std::size_t>(window.root)]->kind == WindowKind::kCreate &&
                    others_over(id).empty();
  for (int r = 0; r < size_; ++r) {
    wait_requests(r, true);
    late_checks(r);
    emit(
        r,
        [id, last](World& world) {
          LiveWindow& live = world.windows[static_cast<std::size_t>(id)];
          if (!live.addresses.empty()) MPI_Barrier(world.comm);
          for (std::uint8_t* region : live.regions) MPI_Win_detach(live.win, region);
          MPI_Win_free(&live.win);
          for (std::uint8_t* region : live.regions) std::free(region);
          const int touched = last ? release_memory(world.mappings, live.memory) : 0;
          if (touched != 0 && world.failures++ < 3)
            std::printf(
                "MISMATCH program %d rank %d: %d pages of w%d take memory that the program "
                "never touched\n",
                world.program, world.rank, touched, id);
          live = LiveWindow{};
        },
        "w%d: free", id);
  }
}

void Generator::enter_regime(int id, Regime regime) {
  Window& window = *windows_[static_cast<std::size_t>(id)];
  window.regime = regime;
  window.opened = false;
  window.read_only = false;
  window.stored = true;
  const bool nocheck = on_.asserts && regime == Regime::kLockAll && random_.chance(20);
  for (int r = 0; r < size_; ++r) {
    if (regime == Regime::kLockAll) {
      emit(
          r,
          [id, nocheck](World& world) {
            MPI_Win_lock_all(nocheck ? MPI_MODE_NOCHECK : 0,
                             world.windows[static_cast<std::size_t>(id)].win);
          },
          "w%d: lock_all%s", id, nocheck ? " nocheck" : "");
    } else {
      emit(
          r, [](World&) {}, "w%d: from now on %s", id, regime_name(regime));
    }
  }
  if (regime == Regime::kFence) fence(id, false);
}

void Generator::leave_regime(int id) {
  Window& window = *windows_[static_cast<std::size_t>(id)];
  switch (window.regime) {
    case Regime::kLockAll:
      for (int r = 0; r < size_; ++r) {
        if (!on_.late_wait || random_.chance(60)) wait_requests(r, true);
        emit(
            r,
            [id](World& world) {
              MPI_Win_unlock_all(world.windows[static_cast<std::size_t>(id)].win);
            },
            "w%d: unlock_all", id);
        complete(r, id, -1, true);
      }
      break;
    case Regime::kFence:
      fence(id, true);
      break;
    case Regime::kPscw:
      if (window.opened) pscw_end(id);
      break;
    default:
      break;
  }
  window.regime = Regime::kNone;
}

void Generator::fence(int id, bool last) {
  Window& window = *windows_[static_cast<std::size_t>(id)];
  int asserts = 0;
  bool barrier = true;
  bool read_only = !on_.write;
  if (on_.asserts) {
    if (!window.used && random_.chance(50)) {
      asserts |= MPI_MODE_NOPRECEDE;
      barrier = false;
    }
    if (last && random_.chance(70)) asserts |= MPI_MODE_NOSUCCEED;
    if (!window.stored && random_.chance(50)) asserts |= MPI_MODE_NOSTORE;
    if (!last && random_.chance(25) && others_over(id).empty()) {
      asserts |= MPI_MODE_NOPUT;
      read_only = true;
    }
  }
  for (int r = 0; r < size_; ++r) {
    emit(
        r,
        [id, asserts](World& world) {
          MPI_Win_fence(asserts, world.windows[static_cast<std::size_t>(id)].win);
        },
        "w%d: fence %#x%s%s%s%s", id, asserts, asserts & MPI_MODE_NOPRECEDE ? " noprecede" : "",
        asserts & MPI_MODE_NOSUCCEED ? " nosucceed" : "",
        asserts & MPI_MODE_NOSTORE ? " nostore" : "", asserts & MPI_MODE_NOPUT ? " noput" : "");
    complete(r, id, -1, true);
  }
  if (barrier) after_global_sync();
  window.used = false;
  window.stored = false;
  window.read_only = read_only;
  window.opened = !last;
}

void Generator::pscw_begin(int id) {
  Window& window = *windows_[static_cast<std::size_t>(id)];
  window.read_only = on_.asserts && random_.chance(25) && others_over(id).empty();
  if (!on_.write) window.read_only = true;
  std::vector<Ranks> exposure(static_cast<std::size_t>(size_), 0);
  for (int o = 0; o < size_; ++o) {
    Ranks targets = static_cast<Ranks>(random_.next()) & everybody();
    if (random_.chance(25)) targets = 0;
    window.access[static_cast<std::size_t>(o)] = targets;
    for (int t = 0; t < size_; ++t) {
      if (targets >> t & 1) exposure[static_cast<std::size_t>(t)] |= Ranks{1} << o;
    }
  }
  if (on_.store && on_.write) {
    for (int t = 0; t < size_; ++t) {
      if (random_.chance(30)) plain_store(t, id);
    }
  }
  int asserts = 0;
  if (on_.asserts && window.read_only && random_.chance(60)) asserts |= MPI_MODE_NOPUT;
  if (on_.asserts && !window.stored && random_.chance(60)) asserts |= MPI_MODE_NOSTORE;
  const bool nocheck = on_.asserts && on_.nocheck && random_.chance(10);
  for (int t = 0; t < size_; ++t) {
    const Ranks group_ranks = exposure[static_cast<std::size_t>(t)];
    exposed_[{id, t}] = group_ranks;
    if (group_ranks == 0 && random_.chance(60)) {
      exposed_.erase({id, t});
      continue;
    }
    const int all = asserts | (nocheck ? MPI_MODE_NOCHECK : 0);
    emit(
        t,
        [=](World& world) {
          MPI_Group group;
          group_of(world, group_ranks, &group);
          MPI_Win_post(group, all, world.windows[static_cast<std::size_t>(id)].win);
          MPI_Group_free(&group);
        },
        "w%d: post to %#x, assert %#x", id, group_ranks, all);
  }
  if (nocheck) global_sync();
  for (int o = 0; o < size_; ++o) {
    const Ranks group_ranks = window.access[static_cast<std::size_t>(o)];
    started_[{id, o}] = group_ranks != 0 || random_.chance(30);
    if (!started_[{id, o}]) continue;
    emit(
        o,
        [=](World& world) {
          MPI_Group group;
          group_of(world, group_ranks, &group);
          MPI_Win_start(group, nocheck ? MPI_MODE_NOCHECK : 0,
                        world.windows[static_cast<std::size_t>(id)].win);
          MPI_Group_free(&group);
        },
        "w%d: start to %#x%s", id, group_ranks, nocheck ? " nocheck" : "");
    // The start need not wait for the posts: what comes through this window does, and nothing else.
    if (!others_over(id).empty()) continue;
    for (int t = 0; t < size_; ++t) {
      if (group_ranks >> t & 1) fuzz::inform(window.memory(t), Ranks{1} << t, Ranks{1} << o);
    }
  }
  window.opened = true;
  window.stored = false;
}

void Generator::pscw_end(int id) {
  Window& window = *windows_[static_cast<std::size_t>(id)];
  for (int o = 0; o < size_; ++o) {
    if (!started_[{id, o}]) continue;
    emit(
        o,
        [id](World& world) { MPI_Win_complete(world.windows[static_cast<std::size_t>(id)].win); },
        "w%d: complete", id);
    complete(o, id, -1, false);
  }
  // Who waits learns what the others knew when they completed, not what they learn by waiting.
  std::vector<std::pair<Ranks, Ranks>> told;
  for (const auto& [exposed, from] : exposed_) {
    if (exposed.first == id) told.emplace_back(from, Ranks{1} << exposed.second);
  }
  std::set<const void*> seen;  // memory of several windows is told of once
  for (int w : open_) {
    const Window& other = *windows_[static_cast<std::size_t>(w)];
    if (!seen.insert(other.memories.get()).second) continue;
    for (Memory& memory : *other.memories) inform_at_once(memory, told);
  }
  for (int t = 0; t < size_; ++t) {
    if (exposed_.count({id, t}) == 0) continue;
    const bool test = random_.chance(40);
    emit(
        t,
        [id, test](World& world) {
          MPI_Win win = world.windows[static_cast<std::size_t>(id)].win;
          int done = 0;
          if (!test) MPI_Win_wait(win);
          while (test && !done) MPI_Win_test(win, &done);
        },
        "w%d: %s", id, test ? "test until true" : "wait");
    for (int o = 0; o < size_; ++o) {
      for (Outstanding& operation : outstanding_[static_cast<std::size_t>(o)]) {
        if (operation.window == id && operation.target == t && !operation.remote)
          remote_done(operation, t);
      }
    }
    exposed_.erase({id, t});
  }
  for (int o = 0; o < size_; ++o) sweep(o);
  for (Ranks& access : window.access) access = 0;
  window.opened = false;
  window.read_only = !on_.write;
}

Ranks Generator::access_of(int rank, int id) const {
  const Window& window = *windows_[static_cast<std::size_t>(id)];
  switch (window.regime) {
    case Regime::kPscw:
      return window.opened ? window.access[static_cast<std::size_t>(rank)] : 0;
    case Regime::kFence:
    case Regime::kLockAll:
    case Regime::kLock:
      return everybody();
    default:
      return 0;
  }
}

}  // namespace fuzz
