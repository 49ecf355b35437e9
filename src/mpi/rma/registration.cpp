#include "mpi/rma/registration.hpp"

#include <fmt/core.h>

#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "cache/cache.hpp"
#include "mpi/core/accelerator.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/end_job.hpp"
#include "mpi/core/extensions.hpp"
#include "mpi/core/members.hpp"
#include "mpi/ghost/job/world.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/batched.hpp"
#include "mpi/rma/backend/displacement_units.hpp"
#include "mpi/rma/backend/native_backend.hpp"
#include "mpi/rma/cache/node_log.hpp"
#include "mpi/rma/cache/tracing.hpp"
#include "mpi/rma/near_targets.hpp"
#include "mpi/rma/state.hpp"
#include "mpi/rma/validation.hpp"
#include "mpi/rma/window_info.hpp"
#include "mpi/workarounds/indexed_operations.hpp"

namespace hob::mpi {
namespace {

cache::Config cache_config() {
  const settings::Settings& s = context().settings;
  cache::Config config;
  config.policy = cache::parse_policy(s.cache_policy).value_or(cache::Policy::standard);
  config.index_slots = s.cache_index;
  // Programs may have thousands of windows: an index that grows as soon as it is short of slots
  // begins small.
  const bool grows = s.cache_adapt && config.policy != cache::Policy::paper &&
                     config.policy != cache::Policy::temporal &&
                     config.policy != cache::Policy::positional;
  if (grows && s.source("cache_index") == settings::Source::Default)
    config.index_slots = config.adaptation.min_index_slots;
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

/// Of a block, as the setting says it; 0 for auto and off.
std::uint64_t block_bytes(const std::string& word) {
  const std::uint64_t unit = word.back() == 'K' ? 1024 : word.back() == 'M' ? 1024 * 1024 : 1;
  std::uint64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number * unit;
}

GetOptions get_options(Mode mode) {
  const settings::Settings& s = context().settings;
  GetOptions options;
  options.mode = mode;
  options.bypass = s.cache_bypass && !tracing;  // a trace shows all gets
  options.atomic_reads_are_gets = s.cache_noop == "get";
  options.poll_hits = static_cast<std::uint32_t>(s.poll_hits);
  options.poll_nanoseconds = s.poll_ms * 1e6;
  options.poll_share = s.poll_share;
  options.progress_nanoseconds = s.progress_us * 1e3;
  options.verify = s.verify;
  options.readahead.fixed_bytes = block_bytes(s.readahead);
  options.readahead.longest_fetch = context().longest_get;
  return options;
}

/// Whether a get may read bytes that the program did not ask for: they are there as long as the
/// window is, and reading them does not touch what others hold of them.
bool may_read_unasked(const Window& window) {
  return window.kind != WindowKind::dynamic && has_unified_memory(window.handle);
}

bool may_fetch_ahead(const Window& window) {
  if (context().settings.readahead == "off") return false;
  const std::string& policy = context().settings.cache_policy;
  if (context().settings.readahead == "auto" && policy == "paper") return false;
  return may_read_unasked(window);
}

/// What the records of all windows may take.
recall::Room& recall_room() {
  static auto* const room = new recall::Room(context().settings.recall_memory);
  return *room;
}

void start_readahead(Window& window, std::unique_ptr<ExposedSizes> exposed) {
  if (const std::uint64_t most = context().longest_get;
      most != std::numeric_limits<std::uint64_t>::max())
    note(
        fmt::format("One-sided operations travel as messages between nodes "
                    "(MPIR_CVAR_CH4_OFI_ENABLE_RMA=0): no more than {} bytes are fetched ahead at "
                    "once, since MPICH breaks longer answers (docs/troubleshooting.md).",
                    most));
  window.cached->fetch_ahead(std::move(exposed));
}

/// Gets with indexed datatypes are right and cheap where batches are. A ghost gets the blocks of
/// one in one record, whatever the MPI library does with them.
void start_recall(Window& window, Mode mode, bool ghosts) {
  const settings::Settings& s = context().settings;
  if (s.recall == "off" || mode != Mode::automatic || s.cache_policy == "paper" ||
      context().one_node || !may_read_unasked(window))
    return;
  const bool indexed = ghosts || indexed_operations_are_right(context().mpi_version);
  window.cached->recall(window.stages.carrier(), indexed, recall_room());
  all_windows.phases_recalled.store(true, std::memory_order_relaxed);
}

void start_caching(Window& window, Mode mode, bool ghosts, std::unique_ptr<DisplacementUnits> units,
                   std::unique_ptr<ExposedSizes> exposed) {
  window.stages.add(std::make_unique<DeferredLocks>(window.stages.first()));
  auto cache = cache::Cache::create(cache_config());
  const bool cached = cache != nullptr;
  if (cached)
    window.cached = std::make_unique<CachedGets>(
        WindowContext{window.id, window.rank, window.size, context().one_node, &window.near},
        window.stages.first(), window.atomic_results, window.issued, get_options(mode),
        std::move(cache), std::move(units));
  else
    window.why_not_cached = "no memory for the cache";
  if (cached && window.stages.batches())
    window.cached->know_batches(window.stages.batches()->batched_gets());
  if (cached) window.cached->set_wait_meter(window.waits);
  if (cached && may_fetch_ahead(window)) start_readahead(window, std::move(exposed));
  if (cached) start_recall(window, mode, ghosts);
}

/// Whether this process would share what it fetches through such a window with others of its node.
/// Not in mode strict, where nothing outlives the epoch that fetched it; and not where memory comes
/// and goes while the window lives.
bool shares_with_node(WindowKind kind, std::optional<Mode> mode) {
  return context().settings.cache_share && !survives_failures() && !context().one_node &&
         kind != WindowKind::dynamic && mode && *mode != Mode::strict && *mode != Mode::off;
}

/// Collective over the window's processes, all of which would.
void share_with_node(Window& window, MPI_Comm comm) {
  std::string why_not;
  auto node_log = NodeLog::open(comm, context().settings.cache_share_size, why_not);
  if (!why_not.empty()) note(fmt::format("Nothing is shared on a node: {}.", why_not));
  if (node_log && window.cached) window.cached->share(std::move(node_log));
}

/// Says which memory a window shows, and what its members think of its info: one process may find
/// out that memory is aliased or that a word is wrong, and all have to know.
std::unique_ptr<DisplacementUnits> agree(const WindowSpec& spec, const Window& window,
                                         const AskedMode& asked, ExposedSizes& exposed,
                                         WindowAnswers& answers) {
  auto units = std::make_unique<DisplacementUnits>();
  if (spec.ghosts) {
    if (!asked.mode) end_for_bad_mode(asked.word, window.rank);
    units->assign(spec.ghosts->units);
    exposed.assign(spec.ghosts->sizes, spec.ghosts->readable);
    answers = spec.ghosts->answers;
    return units;
  }
  // Also where nothing is cached: others of the window may have been asked for something else.
  answers.rejects = !asked.mode;
  units->exchange(spec.displacement_unit, answers, exposed, spec.comm);
  if (answers.rejecting_rank >= 0) {
    if (answers.rejecting_rank == window.rank) print_bad_mode(asked.word);
    real::Barrier(spec.comm);
    end_job(spec.comm, 2);
  }
  return units;
}

void send_old_without_handlers() {
  each_window([](const Window& each) {
    if (each.stages.batches()) each.stages.batches()->send_without_handlers();
  });
}

void send_waiting(bool all) {
  each_window([all](const Window& each) {
    if (each.stages.batches()) each.stages.batches()->send_waiting(all);
  });
}

/// Batches small operations of a window from now on, if it is to.
void start_batching(Window& window, const WindowSpec& spec, const DisplacementUnits& units,
                    const ExposedSizes& exposed) {
  const std::string word = batch_word(spec.info);
  // Messages to ghosts carry many operations already. Memory that the members share is reached by
  // loads and stores, whose order to operations the program may know.
  if (word == "off" || spec.ghosts || spec.kind == WindowKind::shared) return;
  Batching::Options options;
  options.outstanding = context().settings.outstanding;
  if (context().settings.progress_us != 0)
    options.progress_ns = 1e3 * context().settings.progress_us;
  if (word != "auto") {
    options.forced = true;
    options.most = static_cast<std::uint32_t>(std::stoul(word));
  } else if (context().one_node || window.size == 1 ||
             !indexed_operations_are_right(context().mpi_version)) {
    return;
  }
  // Gets and puts travel as messages, too.
  if (context().longest_get != std::numeric_limits<std::uint64_t>::max())
    options.most_bytes = options.most_atomic_bytes;
  const Batching::WindowContext batched{window.handle, window.rank, window.size,
                                        window.kind != WindowKind::dynamic};
  window.stages.add(
      std::make_unique<Batching>(window.stages.first(), batched, units, exposed, options));
  batched::waiting.send_without_handlers.store(send_old_without_handlers,
                                               std::memory_order_relaxed);
  batched::waiting.send.store(send_waiting, std::memory_order_relaxed);
}

/// The calls on a window that the library alone may serve.
direct::Open open_calls(const Window& window, bool has_ghosts) {
  if (has_ghosts || tracing) return direct::Open::none;
  return window.cached || window.stages.batches() ? direct::Open::own : direct::Open::all;
}

/// The last stage.
Stages carrier_for(const WindowSpec& spec) {
  if (spec.ghosts) return Stages(std::move(spec.ghosts->backend), spec.ghosts->ghosts);
  if (ghost_world())
    note(fmt::format("Ghosts do not serve windows of the kind {}.", name_of(spec.kind)));
  return Stages(std::make_unique<NativeBackend>(spec.handle));
}

}  // namespace

/// Own writes through one window may change what another one shows. One process finds out; all
/// members of the window have to know, since each may be the origin of such a write.
bool overlaps_another_window(const void* base, std::uint64_t bytes) {
  const auto* const mine = static_cast<const char*>(base);
  bool overlaps = false;
  each_window([&](const Window& window) {
    const auto* const other = static_cast<const char*>(window.base);
    overlaps |= other && other < mine + bytes && mine < other + window.bytes;
  });
  return overlaps;
}

/// A window of which not all members are known to run Hob: it is the library's, without any joint
/// call. Its writes may still change what another window's cache holds.
void register_native(const WindowSpec& spec, std::unique_ptr<Window> window) {
  window->why_not_cached = "processes of another job are in it";
  note("Windows with processes of another job are the MPI library's alone.");
  expect_aliases();
  if (!mode_for(spec.info).mode) end_for_bad_mode(mode_for(spec.info).word, window->rank);
  add_window(std::move(window));
}

WindowAnswers own_answers(const WindowSpec& spec) {
  int members = 0;
  real::Comm_size(spec.comm, &members);
  return {.bytes = static_cast<std::uint64_t>(spec.bytes),
          .aliased = spec.aliased,
          .validate = may_validate(spec.kind, members, mode_for(spec.info).mode),
          .validate_always = validates_always(),
          .threads = many_threads,
          .number = next_validation_number()};
}

void register_window(const WindowSpec& spec) {
  [[maybe_unused]] static const bool found = (real::find_one_sided(), true);
  correct_clock();
  look_for_accelerators();
  auto window = std::make_unique<Window>(spec.handle, spec.kind, spec.comm, carrier_for(spec));
  window->base = spec.base;
  window->bytes = static_cast<std::uint64_t>(spec.bytes);
  if (!spec.ghosts && !all_run_hob(spec.comm)) return register_native(spec, std::move(window));
  const AskedMode asked = mode_for(spec.info);
  if (!spec.ghosts) window->near = near_targets_of(*window, spec.info, spec.comm);
  const bool caches = asked.mode != Mode::off && window->size > 1 && !window->near.all();
  WindowAnswers answers;
  if (!spec.ghosts) {
    answers = own_answers(spec);
    answers.readable = caches
                           ? readable_of(spec.base, answers.bytes, spec.kind != WindowKind::create)
                           : kNotLookedAt;
    answers.share = shares_with_node(spec.kind, asked.mode);
    answers.validate = answers.validate && has_unified_memory(spec.handle);
  }
  auto exposed = std::make_unique<ExposedSizes>();
  auto units = agree(spec, *window, asked, *exposed, answers);
  const ExposedSizes sizes = *exposed;
  if (answers.aliased) expect_aliases();
  start_batching(*window, spec, *units, *exposed);
  if (caches)
    start_caching(*window, *asked.mode, spec.ghosts != nullptr, std::move(units),
                  std::move(exposed));
  if (answers.share) share_with_node(*window, spec.comm);
  window->direct.set(open_calls(*window, spec.ghosts != nullptr));
  Window& added = *add_window(std::move(window));
  if (answers.validate && !answers.share) start_validation(added, answers, sizes, spec.comm);
}

}  // namespace hob::mpi
