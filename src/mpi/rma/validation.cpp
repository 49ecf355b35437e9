#include "mpi/rma/validation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/lasting.hpp"
#include "base/log.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/extensions.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/rma/backend/exposed_sizes.hpp"
#include "mpi/rma/ghost/ghost_window.hpp"
#include "mpi/rma/incoming.hpp"
#include "mpi/rma/joint_acquire.hpp"
#include "mpi/rma/large_changes.hpp"
#include "mpi/rma/window.hpp"
#include "mpi/rma/window_validation.hpp"
#include "pay/price.hpp"
#include "validation/changes.hpp"
#include "validation/devices.hpp"
#include "validation/schedule.hpp"

namespace hob::mpi {
namespace {

using validation::Changes;
using validation::Tracking;

/// The members of a communicator show each other no more at once: a few dozen can.
constexpr std::size_t kMostShownBytes = std::size_t{256} << 10;

/// What is known of a communicator that the program makes joint calls on.
struct Communicator {
  validation::Schedule schedule;
  bool asked = false;  ///< a member did, the last time that its members reported
  /// Ticks that reporting takes, in one word and in detail: the fastest so far; 0: not known.
  std::array<double, 2> fastest{};
  pay::Recent<7> looked;                ///< ticks that looking for this process's stores took
  std::uint64_t generation = 0;         ///< of All::windows, to which `windows` belongs
  std::vector<Window*> windows;         ///< those that have the same members
  std::uint64_t newest = 0;             ///< the largest number that one of them has had
  std::unique_ptr<LargeChanges> large;  ///< once there were so many targets
  /// Of members that have shown them in the call under way: one thread at a time makes such calls.
  std::vector<validation::ShownEdges> edges;

  /// All members know the same number, for all take the same form of message. Where threads may end
  /// a window while another one is in a call on its communicator, they do not know which windows
  /// are left.
  std::uint64_t targets() const {
    std::uint64_t windows_known = 0;
    for (const Window* window : windows)
      if (windows_known == 0 || !window->validation->threads) ++windows_known;
    return windows_known * members();
  }
  std::uint64_t members() const { return static_cast<std::uint64_t>(windows.front()->size); }

  /// What reporting takes beside the program's own call: the messages, and looking for stores, as
  /// long as it takes this process.
  double cost(bool is_barrier) const {
    const double all = fastest[schedule.details() ? 1 : 0];
    return (is_barrier ? std::max(0.0, all - fastest[0]) : all) + looked.median();
  }
  void took(bool details, std::uint64_t spent) {
    double& least = fastest[details ? 1 : 0];
    const auto now = static_cast<double>(spent);
    least = least == 0 ? now : std::min(least, now);
  }

  bool always() const {
    return std::any_of(windows.begin(), windows.end(),
                       [](const Window* window) { return window->validation->always; });
  }
};

struct All {
  std::mutex lock;
  std::vector<Window*> windows;
  std::uint64_t generation = 1;  ///< counts the changes of `windows`
  std::unordered_map<std::uint64_t, Communicator> communicators;  ///< by the bits of their handle
  std::atomic<std::uint64_t> last_number{0};
  StoreWatch watch;
};

All& all() { return lasting<All>(); }

/// Whether all members of a window, and no others, are in the communicator. With several threads
/// two processes may make a window and a joint call on another communicator in different orders, so
/// that only the window's own communicator will do: there MPI asks for one order.
bool same_members(MPI_Comm comm, MPI_Group group, const Validation& v) {
  if (many_threads) return handle_bits(comm) == handle_bits(v.comm);
  int result = MPI_UNEQUAL;
  return real::Group_compare(group, v.group, &result) == MPI_SUCCESS && result != MPI_UNEQUAL;
}

/// The communicator's entry, with the windows that are alive now.
Communicator& look_up(MPI_Comm comm) {
  Communicator& found = all().communicators[handle_bits(comm)];
  if (found.generation == all().generation) return found;
  found.generation = all().generation;
  found.windows.clear();
  int between_groups = 0;
  real::Comm_test_inter(comm, &between_groups);
  if (between_groups != 0 || belongs_to_threads(comm)) return found;
  MPI_Group group = MPI_GROUP_NULL;
  real::Comm_group(comm, &group);
  const std::uint64_t newest = found.newest;
  for (Window* window : all().windows) {
    const Validation& v = *window->validation;
    if (!same_members(comm, group, v)) continue;
    found.windows.push_back(window);
    found.newest = std::max(found.newest, v.number);
  }
  if (found.newest != newest) found.schedule.begin_window();
  real::Group_free(&group);
  return found;
}

/// Why others keep nothing of this process's memory: each new reason, or all of them.
void log_reason(const Window& window) {
  Validation& v = *window.validation;
  const bool is_new = v.stores.reason() != v.logged_reason;
  const log::Level level = is_new ? log::Level::debug : log::Level::trace;
  if (HOB_LIKELY(!log::on(level))) return;
  log::line(level, "window {}: no copies of this process's memory are kept: {}", window.id,
            v.stores.reason());
  v.logged_reason = v.stores.reason();
}

/// Finds out whether this process's own memory was stored to since the call before, and prepares
/// to find out the same at the next call.
void report_stores(Window& window, Changes& changes) {
  Validation& v = *window.validation;
  const std::uint64_t exposures = v.exposures.load(std::memory_order_relaxed);
  if (v.exposed.load(std::memory_order_relaxed) || exposures != v.reported_exposures)
    changes.add(v.number, window.rank);
  v.reported_exposures = exposures;
  if (take_incoming(v.number)) changes.add(v.number, window.rank);
  const bool changed = v.stores.may_have_changed(all().watch, v.always);
  if (v.stores.compares_edges()) changes.doubt_edges(v.number);
  if (!changed) return;
  changes.add(v.number, window.rank);
  log_reason(window);
}

/// Memory that could not be read as a whole when the window was made may be touched by now: it is
/// looked at again, at growing intervals.
void report_readable(const Window& window, Changes& changes) {
  Validation& v = *window.validation;
  if (!v.readable && std::has_single_bit(++v.looks_at_readable))
    v.readable =
        readable_of(window.base, window.bytes, window.kind != WindowKind::create) == kAllReadable;
  if (!v.readable) changes.keep_to_pages();
}

/// What this process says of a window. `cost`: ticks that it takes to report it to others.
void report_window(Window& window, Changes& changes, bool wanted, double cost) {
  Validation& v = *window.validation;
  if (all_windows.alias.get() || !window.cached ||
      v.shown_to_neighbours.load(std::memory_order_relaxed)) {
    v.stores.not_wanted();
    changes.add_all(v.number);
    return;
  }
  if (wanted) {
    window.cached->reports().notify(v.number, changes);
    report_stores(window, changes);
    if (window.cached->reports().wants_edges(v.always)) changes.want_edges(v.number);
  } else {
    window.cached->reports().notify_nothing();
    v.stores.not_wanted();
    changes.add_all(v.number);
  }
  if (window.cached->reports().gains_by_keeping(cost)) changes.ask();
}

/// For calls out of functions of the program's that Hob cannot serve: nothing can be looked at.
void report_nothing(const Communicator& comm, Changes& changes) {
  for (const Window* window : comm.windows) changes.add_all(window->validation->number);
  changes.keep_to_pages();
}

}  // namespace

ValidationCosts& validation_costs() { return lasting<ValidationCosts>(); }

Tracking stores_tracking() {
  const std::string& wanted = context().settings.cache_stores;
  if (wanted == "none") return Tracking::promised;
  Tracking tracking = validation::StoreTracker::best(context().threads_may_store);
  if (wanted == "write-protection") tracking = Tracking::write_protection;
  if (wanted == "soft-dirty") tracking = Tracking::soft_dirty;
  return validation::StoreTracker::available(tracking) ? tracking : Tracking::none;
}

bool receives_need_watching() {
  return validation::has_device_that_writes() || stores_tracking() == Tracking::promised;
}

bool validates_always() { return context().settings.cache_validate == "on"; }

bool may_validate(WindowKind kind, int members, std::optional<Mode> mode) {
  const settings::Settings& s = context().settings;
  const bool kept = kind == WindowKind::create || kind == WindowKind::allocate;
  const bool remote = !context().one_node || !s.cache_bypass;
  return s.cache_validate != "off" && !survives_failures() && mode == Mode::automatic && kept &&
         remote && members >= 2 && stores_tracking() != Tracking::none;
}

std::uint64_t next_validation_number() {
  return all().last_number.fetch_add(1, std::memory_order_relaxed) + 1;
}

void start_validation(Window& window, const WindowAnswers& answers, const ExposedSizes& exposed,
                      MPI_Comm comm) {
  const std::uint64_t number = answers.number;
  std::uint64_t last = all().last_number.load(std::memory_order_relaxed);
  while (last < number && !all().last_number.compare_exchange_weak(last, number)) {
  }
  if (window.cached) window.cached->reports().expect(exposed, answers.validate_always);
  const bool allocated =
      window.kind == WindowKind::allocate || in_own_arena(window.base, window.bytes);
  const auto owner = allocated ? validation::Owner::library : validation::Owner::process;
  window.validation.reset(
      new Validation{.number = number,
                     .comm = comm,
                     .always = answers.validate_always,
                     .threads = answers.threads,
                     .stores = {window.base, window.bytes, stores_tracking(), owner},
                     .readable = answers.readable == kAllReadable});
  if (receives_need_watching()) compare_incoming(number, window.base, window.bytes);
  real::Comm_group(comm, &window.validation->group);
  const std::lock_guard guard(all().lock);
  all().windows.push_back(&window);
  ++all().generation;
  all_windows.validated.fetch_add(1, std::memory_order_relaxed);
}

void end_validation(Window& window) {
  if (!window.validation) return;
  {
    const std::lock_guard guard(all().lock);
    std::erase(all().windows, &window);
    ++all().generation;
    all_windows.validated.fetch_sub(1, std::memory_order_relaxed);
  }
  stop_comparing_incoming(window.validation->number);
  real::Group_free(&window.validation->group);
  window.validation.reset();
}

void note_exposure(Window& window, bool open) {
  if (!window.validation) return;
  window.validation->exposed = open;
  ++window.validation->exposures;
}

void show_to_neighbours(MPI_Win win) {
  const Window* window = find_window(win);
  if (window && window->validation) window->validation->shown_to_neighbours = true;
}

void forget_communicator(MPI_Comm comm) {
  // Also while no window is alive: what is known of this one must not become another one's.
  if (all().last_number.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard guard(all().lock);
  all().communicators.erase(handle_bits(comm));
  for (Window* window : all().windows)
    if (handle_bits(window->validation->comm) == handle_bits(comm))
      window->validation->comm = MPI_COMM_NULL;
}

void release_validation_handles() {
  if (all().last_number.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard guard(all().lock);
  all().communicators.clear();
}

void JointAcquire::begin(bool is_barrier) {
  if (comm_ == MPI_COMM_NULL) return;
  const std::uint64_t start = ticks();
  bool details = false, always = false, looks = false;
  std::uint64_t members = 0;
  {
    const std::lock_guard guard(all().lock);
    Communicator& comm = look_up(comm_);
    if (comm.windows.empty() || !(comm.schedule.due(is_barrier) || comm.always())) return;
    always = comm.always();
    details = comm.schedule.details() || always;
    looks = comm.asked || always;
    members = comm.members();
    comm.edges.clear();
    changes_.emplace().begin(members, comm.targets());
    if (changes_->large() && !comm.large) comm.large = std::make_unique<LargeChanges>();
    large_ = comm.large.get();
    if (calling_thread.unserved_callback) {
      report_nothing(comm, *changes_);
    } else {
      const double cost = comm.cost(is_barrier);
      all().watch.begin_call();
      for (Window* window : comm.windows) {
        report_window(*window, *changes_, comm.asked || window->validation->always, cost);
        report_readable(*window, *changes_);
      }
      all().watch.end_call();
    }
  }
  const std::uint64_t called = ticks();
  exchange(details);
  const std::uint64_t answered = ticks();
  const bool asked = changes_->asked(), changed = changes_->any();
  const bool pages_only = changes_->pages_only() || error_ != MPI_SUCCESS;
  // The second call is made by all or by none: all have the same answer.
  if (!details && changed && error_ == MPI_SUCCESS)
    asked ? exchange(true) : changes_->add_everything();
  if ((asked || always) && error_ == MPI_SUCCESS) show_edges(members);
  const std::uint64_t spent = ticks() - (is_barrier ? answered : start);
  const std::lock_guard guard(all().lock);
  Communicator& comm = look_up(comm_);
  // With several threads, some member may not know of a window yet.
  if (!pages_only)
    for (Window* window : comm.windows)
      if (window->cached && !window->validation->threads) window->cached->may_read_all();
  comm.took(details, answered - called);
  if (looks) comm.looked.add(static_cast<double>(called - start));
  comm.asked = asked;
  comm.schedule.reported(asked, changed);
  ValidationCosts& costs = validation_costs();
  costs.reported.fetch_add(1, std::memory_order_relaxed);
  costs.nanoseconds.fetch_add(nanoseconds_in(spent), std::memory_order_relaxed);
}

/// Adds up the reports of all members: in detail, or only the summary.
void JointAcquire::exchange(bool details) {
  const std::size_t words = details ? Changes::kWords : Changes::kSummaryWords;
  error_ = details && changes_->large()
               ? large_->unite(*changes_, comm_)
               : real::Allreduce(MPI_IN_PLACE, changes_->words(), static_cast<int>(words),
                                 MPI_UINT64_T, MPI_BOR, comm_);
}

/// All members show each other the edges of those windows of which some doubt and some want them.
void JointAcquire::show_edges(std::uint64_t members) {
  using validation::ShownEdges;
  if (members * sizeof(ShownEdges) > kMostShownBytes) return;
  for (std::uint64_t places = changes_->edges_to_show(); places != 0; places &= places - 1) {
    const auto place = static_cast<unsigned>(std::countr_zero(places));
    ShownEdges own{};
    std::vector<ShownEdges>* edges = nullptr;
    {
      const std::lock_guard guard(all().lock);
      Communicator& comm = look_up(comm_);
      edges = &comm.edges;
      for (const Window* window : comm.windows) {
        const Validation& v = *window->validation;
        if (Changes::edge_place(v.number) != place) continue;
        own.rank = window->rank;
        if (v.stores.show_edges(own)) own.window = v.number;
        break;
      }
    }
    edges->resize(edges->size() + members);
    ShownEdges* const shown = &edges->back() - (members - 1);
    error_ = real::Allgather(&own, sizeof own, MPI_BYTE, shown, sizeof own, MPI_BYTE, comm_);
    if (error_ != MPI_SUCCESS) return;
  }
}

void JointAcquire::keep(const char* call) {
  const std::uint64_t before = count_acquire(call);
  if (error_ != MPI_SUCCESS || calling_thread.unserved_callback) return;
  const std::lock_guard guard(all().lock);
  const Communicator& comm = look_up(comm_);
  for (Window* window : comm.windows)
    if (window->cached)
      window->cached->reports().keep_unchanged(window->validation->number, *changes_, comm.edges,
                                               before);
}

int JointAcquire::barrier(MPI_Comm comm) {
  JointAcquire joint(comm, Barrier{});
  if (all_windows.validated.load(std::memory_order_relaxed) != 0) joint.begin(true);
  const int result = joint.changes_ ? joint.error_ : real::Barrier(comm);
  joint.end("MPI_Barrier");
  return result;
}

}  // namespace hob::mpi
