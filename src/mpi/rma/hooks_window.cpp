// Windows are made, changed and freed.
#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <optional>

#include "mpi/core/context.hpp"
#include "mpi/ghost/world.hpp"
#include "mpi/pmpi/call.hpp"
#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/report/report.hpp"
#include "mpi/rma/cache/node_log.hpp"
#include "mpi/rma/cache/tracing.hpp"
#include "mpi/rma/ghost/ghost_route.hpp"
#include "mpi/rma/native_route.hpp"
#include "mpi/rma/window.hpp"

namespace hob::mpi {
namespace {

std::optional<std::string> info_value(MPI_Info info, const char* key) {
  if (info == MPI_INFO_NULL) return {};
  char value[MPI_MAX_INFO_VAL + 1] = {};
  int flag = 0;
  real::Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
  if (!flag) return {};
  return std::string(value);
}

/// What a window's info asks for, in the words of the setting `cache`.
std::optional<std::string> cache_word(MPI_Info info) {
  if (auto word = info_value(info, "hob_cache")) return word;
  for (auto key : {"CLAMPI_MODE", "clampi_mode"}) {
    auto word = info_value(info, key);
    if (!word) continue;
    std::string lower;
    for (char c : *word) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (lower.find("transparent") != std::string::npos) return "strict";
    if (lower.find("always") != std::string::npos) return "always";
    if (lower.find("user") != std::string::npos) return "user";
    return word;
  }
  return {};
}

std::optional<Mode> parse_mode(const std::string& word) {
  for (Mode mode : {Mode::automatic, Mode::strict, Mode::always, Mode::user, Mode::off})
    if (word == name_of(mode)) return mode;
  return {};
}

/// What a window's info, else the setting, asks for. A word that names no mode ends the job with
/// status 2, as any other bad setting does.
struct Asked {
  std::string word;
  std::optional<Mode> mode;
};

Asked mode_for(MPI_Info info) {
  Asked asked{cache_word(info).value_or(context().settings.cache), {}};
  asked.mode = parse_mode(asked.word);
  return asked;
}

void complain(const std::string& word) {
  std::fprintf(
      stderr,
      "hob: '%s' is not allowed for info key hob_cache: one of auto, strict, always, user, off\n",
      word.c_str());
  std::fflush(stderr);
}

/// Where the processes do not ask each other. Most likely all of them have the same to say.
void end_alone(const std::string& word, int rank) {
  if (rank != 0) usleep(200000);
  complain(word);
  _exit(2);
}

cache::Config cache_config() {
  const settings::Settings& s = context().settings;
  cache::Config config;
  config.policy = cache::parse_policy(s.cache_policy).value_or(cache::Policy::standard);
  config.index_slots = s.cache_index;
  config.storage_bytes = s.cache_size;
  config.sample = static_cast<std::uint32_t>(s.cache_sample);
  config.adaptation.enabled = s.cache_adapt;
  config.adaptation.conflict_threshold = s.cache_conflict_threshold;
  config.adaptation.capacity_threshold = s.cache_capacity_threshold;
  config.adaptation.sparsity_threshold = s.cache_sparsity_threshold;
  config.adaptation.stable_threshold = s.cache_stable_threshold;
  config.adaptation.free_threshold = s.cache_free_threshold;
  config.adaptation.index_increase_factor = config.adaptation.memory_increase_factor = s.cache_grow;
  config.adaptation.index_decrease_factor = config.adaptation.memory_decrease_factor =
      s.cache_shrink;
  config.adaptation.max_storage_bytes = s.cache_max;
  return config;
}

CachedGets::Options get_options(Mode mode) {
  const settings::Settings& s = context().settings;
  CachedGets::Options options;
  options.mode = mode;
  options.bypass = s.cache_bypass && !tracing;  // a trace shows all gets
  options.atomic_reads_are_gets = s.cache_noop == "get";
  options.poll_hits = static_cast<std::uint32_t>(s.poll_hits);
  options.poll_nanoseconds = s.poll_ms * 1e6;
  options.poll_share = s.poll_share;
  options.progress_nanoseconds = s.progress_us * 1e3;
  options.verify = s.verify;
  return options;
}

/// Own writes through one window may change what another one shows. One process finds out; all
/// members of the window have to know, since each may be the origin of such a write.
bool overlaps_another_window(const void* base, std::uint64_t bytes) {
  struct Range {
    const char* base;
    std::uint64_t bytes;
    bool overlaps = false;
  } range{static_cast<const char*>(base), bytes};
  each_window(
      [](Window& window, void* data) {
        auto& mine = *static_cast<Range*>(data);
        const char* other = static_cast<const char*>(window.base);
        if (other && other < mine.base + mine.bytes && mine.base < other + window.bytes)
          mine.overlaps = true;
      },
      &range);
  return range.overlaps;
}

void start_caching(Window& window, Mode mode, std::unique_ptr<DisplacementUnits> units) {
  auto cache = cache::Cache::create(cache_config());
  if (cache)
    window.cached =
        std::make_unique<CachedGets>(window, get_options(mode), std::move(cache), std::move(units));
  else
    window.why_not_cached = "no memory for the cache";
}

/// Whether this process would share what it fetches through such a window with others of its node.
/// Not in mode strict, where nothing outlives the epoch that fetched it; and not where memory comes
/// and goes while the window lives.
bool shares_with_node(WindowKind kind, std::optional<Mode> mode) {
  return context().settings.cache_share && !context().one_node && kind != WindowKind::dynamic &&
         mode && *mode != Mode::strict && *mode != Mode::off;
}

/// Collective over the window's processes, all of which would.
void share_with_node(Window& window, MPI_Comm comm) {
  std::string why_not;
  auto node_log = NodeLog::open(comm, context().settings.cache_share_size, why_not);
  if (!why_not.empty()) note(fmt::format("Nothing is shared on a node: {}.", why_not));
  if (node_log && window.cached) window.cached->share(std::move(node_log));
}

/// After the library made the window. `served` has the route and what the members have told each
/// other, if ghosts serve it; then `shares` is their common answer, else this process's own.
void made(MPI_Win win, WindowKind kind, const void* base, MPI_Aint bytes, MPI_Aint disp_unit,
          MPI_Info info, MPI_Comm comm, bool shares, GhostWindow* served = nullptr) {
  std::unique_ptr<Route> route;
  if (served) {
    route = std::move(served->route);
  } else {
    if (ghost_world())
      note(fmt::format("Ghosts do not serve windows of the kind {}.", name_of(kind)));
    route = std::make_unique<NativeRoute>(win);
  }
  auto window = std::make_unique<Window>(win, kind, comm, std::move(route));
  window->base = base;
  window->bytes = static_cast<std::uint64_t>(bytes);
  const Asked asked = mode_for(info);
  auto units = std::make_unique<DisplacementUnits>();
  bool with_node = !served && shares_with_node(kind, asked.mode);
  if (served) {
    if (!asked.mode) end_alone(asked.word, window->rank);
    units->learn(std::move(served->units));
  } else {
    // Also where nothing is cached: others of the window may have been asked for something else.
    const int objector = units->exchange(disp_unit, shares, with_node, !asked.mode, comm);
    if (objector >= 0) {
      if (objector == window->rank) complain(asked.word);
      real::Barrier(comm);
      real::Abort(comm, 2);
    }
  }
  if (shares) context().memory_shared_by_windows = true;
  if (asked.mode != Mode::off && window->size > 1)
    start_caching(*window, *asked.mode, std::move(units));
  if (with_node) share_with_node(*window, comm);
  add_window(std::move(window));
}

}  // namespace

int on_Win_create(void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                  MPI_Win* win) {
  GhostWindow served;
  int made_it = MPI_SUCCESS;
  bool shares = overlaps_another_window(base, static_cast<std::uint64_t>(size));
  if (ghost_world() &&
      ghost_window(false, base, size, disp_unit, info, comm, shares, served, made_it)) {
    if (made_it != MPI_SUCCESS) return made_it;
    *win = served.handle;
    made(*win, WindowKind::create, base, size, disp_unit, info, comm, shares, &served);
    return MPI_SUCCESS;
  }
  const int result = call::Win_create(base, size, disp_unit, info, comm, win);
  if (result == MPI_SUCCESS)
    made(*win, WindowKind::create, base, size, disp_unit, info, comm, shares);
  return result;
}

int on_Win_allocate(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                    MPI_Win* win) {
  GhostWindow served;
  int made_it = MPI_SUCCESS;
  bool shares = false;  // nobody else has the memory of such a window
  if (ghost_world() &&
      ghost_window(true, nullptr, size, disp_unit, info, comm, shares, served, made_it)) {
    if (made_it != MPI_SUCCESS) return made_it;
    *win = served.handle;
    *static_cast<void**>(baseptr) = served.base;
    made(*win, WindowKind::allocate, served.base, size, disp_unit, info, comm, shares, &served);
    return MPI_SUCCESS;
  }
  const int result = call::Win_allocate(size, disp_unit, info, comm, baseptr, win);
  if (result == MPI_SUCCESS)
    made(*win, WindowKind::allocate, *static_cast<void**>(baseptr), size, disp_unit, info, comm,
         shares);
  return result;
}

int on_Win_allocate_shared(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                           void* baseptr, MPI_Win* win) {
  const int result = call::Win_allocate_shared(size, disp_unit, info, comm, baseptr, win);
  if (result == MPI_SUCCESS)
    made(*win, WindowKind::shared, *static_cast<void**>(baseptr), size, disp_unit, info, comm,
         false);
  return result;
}

int on_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  const int result = real::Win_create_dynamic(info, comm, win);
  if (result == MPI_SUCCESS) made(*win, WindowKind::dynamic, nullptr, 0, 1, info, comm, true);
  return result;
}

int on_Win_free(MPI_Win* win) {
  const auto window = remove_window(*win);
  if (window) {
    window->route->closing();
    char name[MPI_MAX_OBJECT_NAME] = {};
    int length = 0;
    real::Win_get_name(*win, name, &length);
    window->name.assign(name, static_cast<std::size_t>(length));
    remember_window(*window);
  }
  return real::Win_free(win);
}

int on_Win_get_attr(MPI_Win win, int keyval, void* value, int* flag) {
  const int result = real::Win_get_attr(win, keyval, value, flag);
  if (keyval != MPI_WIN_CREATE_FLAVOR || result != MPI_SUCCESS) return result;
  const Window* window = find_window(win);
  if (window && window->kind == WindowKind::allocate && is_ghost_route(window->route.get())) {
    static int flavor = MPI_WIN_FLAVOR_ALLOCATE;
    *static_cast<int**>(value) = &flavor;
  }
  return result;
}

namespace {

bool shared_query(MPI_Win win, int rank, MPI_Aint* size, MPI_Aint* unit, void* base) {
  const Window* window = find_window(win);
  return window && window->kind == WindowKind::allocate && is_ghost_route(window->route.get()) &&
         ghost_shared_query(window->route.get(), rank, size, unit, static_cast<void**>(base));
}

}  // namespace

int on_Win_shared_query(MPI_Win win, int rank, MPI_Aint* size, int* disp_unit, void* baseptr) {
  MPI_Aint unit = 1;
  if (!shared_query(win, rank, size, &unit, baseptr))
    return real::Win_shared_query(win, rank, size, disp_unit, baseptr);
  *disp_unit = static_cast<int>(unit);
  return MPI_SUCCESS;
}

#if HOB_HAS_LARGE_COUNT
int on_Win_shared_query_c(MPI_Win win, int rank, MPI_Aint* size, MPI_Aint* disp_unit,
                          void* baseptr) {
  if (shared_query(win, rank, size, disp_unit, baseptr)) return MPI_SUCCESS;
  return real::Win_shared_query_c(win, rank, size, disp_unit, baseptr);
}
#endif

int on_Win_set_info(MPI_Win win, MPI_Info info) {
  const int result = real::Win_set_info(win, info);
  Window* window = find_window(win);
  const auto word = window ? cache_word(info) : std::nullopt;
  if (!word) return result;
  const auto mode = parse_mode(*word);
  if (!mode) end_alone(*word, window->rank);
  if (window->cached) window->cached->set_mode(*mode, "");
  return result;
}

}  // namespace hob::mpi
