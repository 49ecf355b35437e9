// From a seed to a legal MPI program whose every checked read has one outcome. All ranks generate
// the whole program and keep their own actions.
//
// Legality rests on one rule: actions are generated in an order in which they could run one after
// the other, and a blocking action is generated after all that it waits for. So no program can
// deadlock, and the model's contents at that moment are what the read must return.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "model.hpp"
#include "random.hpp"
#include "script.hpp"

namespace fuzz {

/// What programs may consist of. Every name is accepted by --only and --without.
struct Features {
  bool create = true, allocate = true, shared = true, dynamic = true;
  bool lock = true, lockall = true, fence = true, pscw = true;
  bool request = true;  ///< Rget, Rput, ...
  bool types = true;    ///< derived datatypes
  bool write = true;    ///< anything that changes a window after its first fill
  bool accumulate = true, fetch = true, store = true;
  bool p2p = true, collective = true, atomics = true;
  bool warm = true;       ///< gets whose outcome is undefined and not looked at
  bool late_wait = true;  ///< requests completed after the epoch event that completed the operation
  bool attach = true;     ///< regions of dynamic windows come and go
  bool recreate = true;   ///< windows come and go
  bool asserts = true;
  bool flush_local = true;
  bool nocheck = true;        ///< post and start with MPI_MODE_NOCHECK
  bool typed_request = true;  ///< request operations with derived datatypes
  bool exclusive = true;
  bool big = true;     ///< some windows of 256 KiB
  bool bursts = true;  ///< with threads: several of them write to one target at once
  /// What ranks do and learn inside of callbacks that the library calls: attributes, error
  /// handlers, generalized requests. Asked for with --with, as the next two.
  bool callbacks = false;
  bool exceptions = false;  ///< ... from which an exception leaves the call
  bool finalize = false;    ///< the last program ends inside MPI_Finalize
  bool aliases = false;     ///< several windows over one memory
  bool phases = false;      ///< long stretches of one kind of call
  bool recurring = false;   ///< the same places again and again, written anew before each time
  bool fork = false;        ///< ranks fork children that read and write their copy of the memory
  /// What windows of MPI_Win_create lie over, and how their owner changes it.
  bool mapped = false;   ///< shared memory and files
  bool holes = false;    ///< reserved addresses, which are committed later or never
  bool sparse = false;   ///< a large part that nobody touches
  bool remap = false;    ///< pages are mapped or moved over others
  bool madvise = false;  ///< ... or given back
  /// Where the last program ends, one of these: after main, with MPI_Finalize in it.
  bool atexit = false;      ///< in an exit handler
  bool destructor = false;  ///< in a static object's destructor
  bool tls = false;         ///< in the destructor of a thread-local object of the main thread
  bool thread_end = false;  ///< with threads: in that of another thread, before MPI_Finalize
  bool spawn = false;       ///< one or two spawned ranks take part in all programs
  bool bare = false;        ///< ... which start without what is preloaded

  /// Null for an unknown name.
  bool* find(const std::string& name);
  static const std::vector<std::string>& names();
  void clear();
};

struct Options {
  Features features;
  int operations = 80;
  int events = 1 << 30;  ///< the program ends after so many bursts, fences, exchanges
  int threads = 1;
  bool verbose = false;
};

class Generator {
 public:
  Generator(const Options& options, std::uint64_t seed, int rank, int size, bool one_node);

  /// The calling rank's share of the program.
  Script run();

  int requests() const { return requests_; }

 private:
  struct Outstanding {
    int operation, window, target, slot, request, rank;
    bool get, waited, local, remote;
    Blocks blocks;
    std::shared_ptr<Expectation> expectation;  ///< checked reads only
  };
  struct Template {
    int target;
    std::int64_t start;
    int count;
    Base base;
    LayoutPtr layout;
  };
  struct Place {
    std::int64_t start;  ///< byte of the target's memory at displacement `disp`
    int count;
    LayoutPtr layout;
    std::vector<std::int64_t> places;
    Blocks blocks;
  };

  /// Threads of one rank that write to one target at once, and what they leave to each other.
  struct Burst {
    int thread = 0;          ///< the one whose operations are being made
    bool long_ones = false;  ///< some operations are longer than what goes in one message
    Base base = Base::kByte;
    Op op = Op::kSum;                 ///< what several threads may do to the same place
    std::map<int, int> writer;        ///< block: the thread, or kShared + the kind of accumulate
    std::map<int, unsigned> readers;  ///< block: a set of threads
    static constexpr int kShared = 1000;
  };

  struct Buffer {
    int slot, offset, count, used;
    LayoutPtr layout;
    std::vector<std::int64_t> places;
  };

  /// What is emitted while it lives happens inside of a callback, now and then.
  class InCallback {
   public:
    explicit InCallback(Generator& generator);
    ~InCallback() { generator_.callback_ = 0; }
    InCallback(const InCallback&) = delete;
    InCallback& operator=(const InCallback&) = delete;

   private:
    Generator& generator_;
  };

  void emit(int rank, std::function<void(World&)> run, const char* format, ...)
      __attribute__((format(printf, 4, 5)));

  // windows and regimes
  void create_window();
  void publish(int window);
  void share_addresses(int window);
  void plain_store(int rank, int window);
  void free_window(int window);
  void close_window(int window);
  void enter_regime(int window, Regime regime);
  void leave_regime(int window);
  void change_regions(int window);
  void pscw_begin(int window);
  void pscw_end(int window);
  void fence(int window, bool last);

  // several windows over one memory
  void create_alias();
  void alias_event(int rank);
  std::vector<int> others_over(int window) const;
  bool read_only(int window) const;
  bool passive(int window) const;
  void synchronise_own(int rank, int window);

  // stretches of one kind of call
  void stretches();
  std::vector<int> settled_windows();
  void recurring_phases();
  void repeated_reads(int rank, int window);
  void reads_and_collectives(int window);
  void scattered_reads(int rank, int window);
  void collectives_only();
  void writing_rounds(int window);
  void queue_of_receives();
  Script listed(int rank, int window, const std::function<void()>& make);
  int stretch_length();

  // children that share nothing
  void fork_child(int rank, int window);
  void await_children();

  // memory that is mapped in any way
  bool strange() const;
  void choose_pages(Memory& memory, int& bytes);
  static void note_hole(Memory& memory);
  std::vector<Change> changes_of(Page page) const;
  void change_of_pages();
  void look_at(int window, int owner);

  // several threads of one rank at once
  void threaded_burst(int rank, int window);
  void writing_burst(int rank, int window);
  void burst_of_thread(int rank, int window, int target);
  void in_threads(int rank, int window, const std::function<void(int)>& thread);
  std::int64_t place_in_burst(std::int64_t room);
  bool burst_read(const Blocks& blocks) const;
  bool burst_write(const Blocks& blocks, std::uint16_t sum) const;
  void note_burst(const Blocks& blocks, bool write, std::uint16_t sum);

  // operations of one rank
  void burst(int rank, int window);
  void operation(int rank, int window, Ranks targets, bool reads_only, bool warm_only);
  void get(int rank, int window, Ranks targets, bool fetch, bool warm_only);
  void put(int rank, int window, int target);
  void accumulate(int rank, int window, int target, bool fetch);
  void single(int rank, int window, int target);
  void store(int rank, int window);
  void load(int rank, int window);
  void nothing(int rank, int window, int target);
  bool choose_place(int window, int target, Base base, int elements, bool types, Place& place);
  void remember(int window, int target, const Place& place, Base base);
  bool revisit(int window, Ranks targets, int& target, Base& base, Place& place);
  bool choose_buffer(int rank, Base base, int elements, Buffer& buffer);
  bool choose_store(int rank, int window, int target, int& start, int& length, int& operation);
  bool may_request(const Place& place, const Buffer& buffer) const;
  int random_elements(Base base);
  static bool too_long_for_types(Base base, int elements);
  int take_slot(int rank);
  void give_slot(int rank, int slot);

  // completion
  void completion_event(int rank, int window);
  void complete(int rank, int window, int target, bool remote);
  void flush_all(int rank, int window, const std::string& who);
  void local_done(Outstanding& operation);
  void remote_done(Outstanding& operation, int knower);
  void wait_requests(int rank, bool all);
  void check(const Outstanding& operation);
  void late_checks(int rank);
  void sweep(int rank);
  bool own_gets_overlap(int rank, int window, int target, const Blocks& blocks) const;

  // synchronisation between ranks
  void sync_event();
  void global_sync();
  void after_global_sync();
  void directed_sync();
  void inform(int from, int to);
  void message(int from, int to);
  void flag(int from, int to);
  void warm_up(int rank);
  void one_to_all();
  void all_to_one();

  bool fits(int window, Regime regime) const;
  Ranks everybody() const { return (Ranks{1} << size_) - 1; }
  Ranks access_of(int rank, int window) const;

  const Options options_;
  const Features& on_;
  Random random_;
  const std::uint64_t seed_;
  int rank_;
  int size_;
  bool one_node_;
  Script script_;
  Script* into_;  ///< where own actions go: the script, or one thread's list
  std::vector<std::unique_ptr<Window>> windows_;
  std::vector<int> open_;                              ///< ids of windows that exist
  std::vector<std::vector<Outstanding>> outstanding_;  ///< per rank
  std::vector<std::vector<Outstanding>> unchecked_;    ///< per rank: complete, to be checked later
  std::vector<std::vector<bool>> slot_used_;           ///< per rank
  std::map<int, std::vector<Template>> templates_;     ///< per memory, by its first window
  std::vector<std::vector<int>> held_slots_;           ///< per rank: free after the threaded burst
  std::map<std::pair<int, int>, Ranks> exposed_;       ///< (window, target): origins it posted to
  std::map<std::pair<int, int>, bool> started_;        ///< (window, origin)
  std::vector<std::pair<int, Regime>> enter_after_;
  int generation_ = 0;
  int operations_ = 0;
  int requests_ = 0;
  int tag_ = 0;
  int callback_ = 0;              ///< the kind of callback that what is emitted happens in; 0: none
  bool threaded_ = false;         ///< inside a threaded burst
  std::unique_ptr<Burst> burst_;  ///< of threads that write
  std::vector<Outstanding> before_threads_;  ///< of the rank whose threads these are
  bool reading_ = false;  ///< inside a burst that mostly reads the same places again
  bool has_sync_window_ = false;
  bool sync_lock_all_ = false;
  std::int64_t flag_value_ = 0;
};

}  // namespace fuzz
