// The gets of one window, served from a cache where MPI's rules allow it (paper III;
// docs/developers/cache.md).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/random.hpp"
#include "cache/cache.hpp"
#include "mpi/datatype/layouts.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "report/trace.hpp"

namespace hob::mpi {

class Window;
class DisplacementUnits;
class NodeLog;

/// When cached bytes may be used again (settings.def, key "cache").
enum class Mode : std::uint8_t { automatic, strict, always, user, off };
const char* name_of(Mode mode);

/// One get of the program, or an MPI_Get_accumulate that only reads.
struct Get {
  void* buffer;
  MPI_Count count;
  MPI_Datatype type;
  int target;
  MPI_Aint disp;
  MPI_Count target_count;
  MPI_Datatype target_type;
  bool atomic = false;  ///< issued as MPI_Get_accumulate with MPI_NO_OP
};

/// What the report says about one window's cache beyond cache::Stats.
struct GetStats {
  std::uint64_t gets = 0;         ///< asked for by the program, of any size and target
  std::uint64_t native_gets = 0;  ///< gets that the MPI library was asked for, refetches included
  std::uint64_t bypassed = 0;     ///< left to the library since the target is as fast as a hit
  std::uint64_t left_alone = 0;   ///< bypassed, and counted by the wrapper alone
  std::uint64_t uncacheable = 0;  ///< left to the library for another reason
  std::uint64_t refetches = 0;    ///< hits that were fetched again to see whether they changed
  std::uint64_t refetches_changed = 0;  ///< of these, the bytes had changed
  std::uint64_t flushes = 0;            ///< flush calls of the program
  std::uint64_t flushes_skipped = 0;    ///< of these, nothing was outstanding: no call made
  std::uint64_t invalidations = 0;      ///< times that the whole cache was dropped
  std::uint64_t own_writes = 0;         ///< own puts and accumulates that dropped what they overlap
  std::uint64_t verified = 0;           ///< hits that were fetched as well and compared
  std::uint64_t verify_failures = 0;    ///< of these, the bytes differed
  std::uint64_t shared_hits = 0;        ///< missing, but in the node's log
  std::uint64_t shared_bytes = 0;       ///< served so
  std::uint64_t shared_inserts = 0;     ///< gets put into the node's log
  std::uint64_t pokes = 0;              ///< times that MPI was entered for progress' sake
};

/// Cached gets of one window. Thread safe with MPI_THREAD_MULTIPLE. No function throws.
class CachedGets {
 public:
  /// What the settings say; the parts of them that matter here.
  struct Options {
    Mode mode = Mode::automatic;
    bool bypass = true;
    bool atomic_reads_are_gets = false;  ///< mode auto: MPI_NO_OP reads are cached
    std::uint32_t poll_hits = 64;
    double poll_nanoseconds = 2e7;
    double poll_share = 0.005;
    double progress_nanoseconds = 2e4;
    double verify = 0;
  };

  CachedGets(Window& window, const Options& options, std::unique_ptr<cache::Cache> cache,
             std::unique_ptr<DisplacementUnits> units);
  ~CachedGets();

  /// From now on, shares what it fetches with other ranks of the node. Before the first get.
  void share(std::unique_ptr<NodeLog> node_log);

  /// The whole of MPI_Get: serves it or issues it. Returns what MPI_Get would.
  int get(const Get& get);

  /// The whole of MPI_Rget. Its bytes are taken when the request completes, if that comes before
  /// the next flush: the program may then reuse the buffer.
  int rget(const Get& get, MPI_Request* request);

  /// Flushes and their kin. `before` returns false if nothing is outstanding and the call need not
  /// be made; else `after` follows it, on the same thread. target < 0: all targets. local: only
  /// local completion is asked for, so that writes stay outstanding; false afterwards if the call
  /// must be the full flush, since gets are pending: where a library's local one returns before
  /// their bytes are there, copies of the old buffer would stay.
  bool before_flush(int target, bool& local);
  void after_flush(int target, bool succeeded);

  /// The end of an epoch (unlock, unlock_all, complete, fence, ...), after the library's own call:
  /// all gets to the target (target < 0: to all) are complete.
  void epoch_closed(int target, bool succeeded);

  /// A put, accumulate or atomic of this process is about to be issued to these bytes; in programs
  /// with several threads also after it was (`issued`).
  void own_write(int target, MPI_Aint disp, MPI_Count count, MPI_Datatype type, bool issued);

  /// A write or atomic was given to the library for this target.
  void note_write(int target);

  /// HOB_Invalidate, or an own write to memory that other windows may show too.
  void drop_all();
  void drop_target(int target);

  /// Nothing is looked up any more: the whole job is on one node, whose gets cost what hits cost.
  bool left_alone() const { return left_alone_; }
  std::uint64_t& gets_left_alone() { return stats_.left_alone; }

  Mode mode() const { return mode_; }
  const std::string& mode_reason() const { return mode_reason_; }
  void set_mode(Mode mode, std::string reason);

  const GetStats& stats() const { return stats_; }
  const cache::Cache& cache() const { return *cache_; }
  std::size_t targets() const { return targets_.size(); }
  const std::vector<std::string>& failures() const { return failures_; }
  std::uint64_t memory_bytes() const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  enum class Purpose : std::uint8_t { fetch, requested, tail, refetch, verify };

  /// A get under way whose bytes the cache wants, or that others wait for.
  struct Pending {
    cache::EntryId entry{};
    void* buffer = nullptr;
    const Layout* layout = nullptr;  ///< of one element at `buffer`
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0;       ///< in the entry
    std::uint64_t issue_ticks = 0;  ///< spent in the MPI call that issued it
    std::uint64_t when = 0;
    std::uint32_t waiters = kNone;
    int rank = 0;
    std::uint32_t birth = 0;  ///< numbers gets in the order of issue
    std::uint32_t place = 0;  ///< in its target's list
    Purpose purpose = Purpose::fetch;
    std::uint64_t displacement = 0;  ///< purpose verify, or where `issued` is set
    /// Purpose verify: fetched bytes, then served ones. Purpose refetch without an entry: those
    /// that the node's log had.
    std::unique_ptr<std::byte[]> served{};
    std::uint64_t issued = 0;  ///< what the node's clock said before; 0: not for the node's log
    std::uint64_t doubts = 0;  ///< doubts_ when it was issued
  };

  /// A hit on a pending entry: gets its bytes when that get completes.
  struct Waiter {
    void* buffer;
    const Layout* layout;
    std::uint64_t bytes;
    std::uint64_t offset;
    std::uint32_t next;
  };

  struct Target {
    std::vector<std::uint32_t> pending;
    std::uint64_t gets = 0;        ///< given to the library since the last flush of any kind
    std::uint64_t written = 0;     ///< number of the last write or atomic given to it
    std::uint64_t settled = 0;     ///< writes up to this number are complete
    std::uint64_t hits = 0;        ///< served from the cache since the last flush
    std::uint32_t completing = 0;  ///< threads between before_flush and after_flush of it
    std::uint64_t native_ticks = ~std::uint64_t{0};  ///< the fastest get and flush seen
    std::uint32_t samples = 0;
    std::uint32_t cheap_samples = 0;  ///< of these, hardly more than a hit
    bool bypass = false;
    bool near = false;  ///< on this node
    /// Records of the node's log are true if issued from here on (docs/consistency.md); found out
    /// by a get that was issued at that number of doubts, as long as nothing was doubted since.
    std::uint64_t floor = 0;
    std::uint64_t floor_doubts = 0;
    std::uint64_t doubted = 0;

    bool writing() const { return written > settled; }
  };

  /// A get that may be looked up.
  struct Wanted {
    const Layout* remote = nullptr;  ///< null: the get is left to the library
    const Layout* origin = nullptr;
    cache::Key key{};
    std::uint64_t size = 0;
    bool contiguous = false;
  };

  Target& target(int rank);
  const Layout* layout_or_none(MPI_Datatype type);
  void learn();
  void wake_up();
  void leave_alone();
  void drop_everything();
  void doubt(Target& t) { t.doubted = ++doubts_; }
  void doubt_all() { doubted_ = ++doubts_; }
  bool doubted(const Target& t, std::uint64_t since) const {
    return since < t.doubted || since < doubted_;
  }
  bool shares(const Get& get, const Target& t, const Wanted& wanted) const;
  bool serve_shared(const Get& get, Target& t, const Wanted& wanted, int& result);
  int check_shared(const Get& get, Target& t, const Wanted& wanted, std::uint64_t issued);
  void put_into_log(Target& t, const Pending& pending);
  void record(report::TraceRecord what);
  int native(const Get& get, Target& t);
  int issue(const Get& get, Target& t, const Wanted& wanted, bool keep);
  int fetch_tail(const Get& get, Target& t, const Wanted& wanted, const cache::Lookup& hit);
  static cache::Fetch fetch_of(const Get& get, const Wanted& wanted, std::uint32_t index);
  bool due(const cache::Lookup& hit, std::uint64_t now) const;
  int serve(const Get& get, Target& t, const Wanted& wanted, const cache::Lookup& hit);
  int refetch(const Get& get, Target& t, Pending pending);
  void verify_hit(const Get& get, Target& t, std::uint64_t size, const cache::Lookup& hit,
                  const cache::Key& key);
  void wait_for(const Get& get, Pending& pending, const Wanted& wanted, const cache::Lookup& hit);
  std::uint32_t add_pending(Target& t, Pending pending);
  void complete(Target& t, std::uint32_t last, bool succeeded);
  void finish(Pending& pending);
  void serve_waiters(Pending& pending, const std::byte* packed);
  void serve_waiters(Pending& pending);
  void measure(Target& t, const Pending& pending, std::uint64_t flush_ticks);
  void pause_refetches(std::uint64_t spent);
  void strict_end();
  void poke();

  Wanted want(const Get& get, Target& t);
  void request_completed(std::uint64_t cookie, bool freed);

  /// Hears of requests; outlives the window as long as any of them is watched.
  class RequestWatch;

  Window& window_;
  Options options_;
  Mode mode_;
  std::string mode_reason_;
  std::unique_ptr<cache::Cache> cache_;
  std::unique_ptr<DisplacementUnits> units_;
  std::unique_ptr<NodeLog> node_log_;  ///< null: nothing is shared

  Spin lock_;
  /// Writes may be outstanding that were not seen, since Hob slept (wrapper.hpp).
  bool slept_ = true;
  bool awake_ = false;         ///< this is a reason not to sleep
  bool left_alone_ = false;    ///< every target is bypassed, those not yet used too
  std::uint64_t learned_ = 0;  ///< value of `acquires` up to which the cache is true
  std::unordered_map<int, Target> targets_;
  Target spare_;  ///< stands for those for which there is no memory
  int last_rank_ = -1;
  Target* last_target_ = nullptr;
  std::vector<Pending> pending_;
  std::vector<std::uint32_t> free_pending_;
  std::vector<Waiter> waiters_;
  std::vector<std::uint32_t> free_waiters_;
  std::uint64_t flush_started_ = 0;
  std::uint32_t completing_all_ = 0;  ///< threads between before_flush and after_flush of all
  std::uint32_t births_ = 0;
  std::uint64_t writes_ = 0;  ///< numbers writes and atomics in the order of issue
  std::uint64_t doubts_ = 1;  ///< times that fetched bytes of some target stopped being surely true
  std::uint64_t doubted_ = 0;          ///< the last of them that was of all targets
  cache::Key last_shared_{};           ///< what the node's log was asked for last, successfully,
  std::uint64_t last_shared_get_ = 0;  ///< by this get,
  std::uint32_t shared_in_a_row_ = 0;  ///< so often one after the other

  std::uint64_t poll_ticks_, progress_ticks_, refetch_pause_ticks_ = 0;
  std::uint64_t last_refetch_ = 0, last_mpi_ = 0;
  std::uint64_t refetch_issue_ticks_ = 0;  ///< spent issuing one that is under way; 0: none is
  Random random_{1};

  RequestWatch* watch_;  ///< deletes itself

  GetStats stats_;
  std::vector<std::string> failures_;
};

}  // namespace hob::mpi
