// Every interleaving of a small program is tried: an origin that keeps copies, a process that
// writes to their target, the target's own stores, collective calls in which they notify each
// other, and a message. No hit may be older than what the origin must see by MPI's rules
// (docs/consistency.md, "What no process wrote"). Each rule is also left out once: then some
// interleaving is wrong, or the rule would not be needed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "validation/changes.hpp"
#include "validation/write_marks.hpp"

namespace hob::validation {
namespace {

enum Process { origin, writer, target, processes };

/// How the protocol is played: the rules that may be left out.
struct Rules {
  bool notify_again = true;     ///< writes that were under way are notified once more
  bool notify_exposure = true;  ///< the target reports exposure epochs that were open
  bool drop_pending = true;     ///< what changed is dropped while its get is under way, too
  bool watch_before = true;     ///< the target watches its stores before it tells
  bool message_drops = true;    ///< an acquire that is no such call drops everything
  bool pass_over_own = true;    ///< an acquire meanwhile, of another thread, is not passed over
  bool settle_edges = true;     ///< copies of edges in doubt that are not what is shown are dropped
  bool settle_pending = true;   ///< likewise those that are under way, which are dropped
  bool show_compared = true;    ///< the target shows the bytes that it compares with later
  bool two_calls = true;        ///< edges are out of doubt after two calls without stores, not one
};

/// Steps that a process may take while it is inside a collective call are those of other threads.
struct Limits {
  int rounds = 2;
  int puts = 1;
  int stores = 1;
  int gets = 2;
  int messages = 1;
  bool threads = true;
  /// The memory shares its page with other data, to which somebody may store: then its bytes are
  /// compared. Every second write writes the same.
  bool edges = false;
};

struct Put {
  enum : std::uint8_t { none, issued, landed } state = none;
  std::uint8_t position = 0;
  bool exposed_only = false;  ///< of a post-start-complete-wait epoch
  bool closed = false;        ///< complete at its origin
};

/// Memory is the number of writes that have landed; a value is the number at which it was read.
/// What a process must see is the largest such number of the writes that were before it.
struct State {
  std::uint8_t memory = 0;
  std::array<std::uint8_t, processes> must_see{};

  // origin
  enum : std::uint8_t { nothing, under_way, read, cached };
  std::uint8_t entry = nothing;
  std::uint8_t value = 0;
  std::uint8_t gets = 0;
  std::uint8_t acquires = 0, applied = 0;
  bool orphan = false;             ///< its get is under way, its bytes will not be kept
  std::uint8_t edges_fetched = 0;  ///< 2: since the last collective call, 1: since the one before

  // writer
  std::array<Put, 2> puts{};
  std::uint8_t puts_issued = 0;
  WriteMarks marks{};
  std::uint8_t message = 0;  ///< what it carries, plus 1; 0: none was sent
  std::uint8_t messages = 0;

  // target
  std::uint8_t stores = 0;
  bool watching = false, stored = false;
  std::uint8_t copied = 0;  ///< the memory as it is compared
  bool comparing = false;   ///< since something was stored to its page
  bool exposed = false;     ///< an exposure epoch is open
  std::uint8_t exposures = 0, notified_exposures = 0;
  bool posted = false;

  // the collective calls
  std::uint8_t round = 0;
  std::array<bool, processes> inside{}, left{};
  bool changed = false, doubted = false;
  std::uint8_t joint_must_see = 0;

  std::uint64_t hash() const {
    std::uint64_t result = 14695981039346656037u;
    const auto* bytes = reinterpret_cast<const unsigned char*>(this);
    for (std::size_t i = 0; i < sizeof *this; ++i) result = (result ^ bytes[i]) * 1099511628211u;
    return result;
  }
  bool operator==(const State& other) const { return std::memcmp(this, &other, sizeof other) == 0; }
};

struct Hash {
  std::size_t operator()(const State& state) const { return state.hash(); }
};

/// Padding is compared, too: states are copies of one whose bytes are all set.
State first_state() {
  alignas(State) static std::array<unsigned char, sizeof(State)> zeros{};
  State state;
  std::memcpy(static_cast<void*>(&state), zeros.data(), sizeof state);
  return state;
}

class Model {
 public:
  Model(const Rules& rules, const Limits& limits) : rules_(rules), limits_(limits) {}

  /// Whether some interleaving serves a copy that is too old.
  bool fails() {
    std::unordered_set<State, Hash> seen;
    std::deque<State> open{first_state()};
    seen.insert(open.front());
    while (!open.empty() && !stale_) {
      const State state = open.front();
      open.pop_front();
      successors_.clear();
      step(state);
      for (const State& next : successors_)
        if (seen.insert(next).second) open.push_back(next);
    }
    states_ = seen.size();
    return stale_;
  }

  std::size_t states() const { return states_; }
  std::uint64_t hits() const { return hits_; }
  std::uint64_t kept_hits() const { return kept_hits_; }

 private:
  bool runs(const State& s, Process process) const {
    return limits_.threads || !s.inside[process] || s.left[process];
  }

  template <class Change>
  void to(const State& from, Change change) {
    State next;
    std::memcpy(static_cast<void*>(&next), static_cast<const void*>(&from), sizeof next);
    change(next);
    successors_.push_back(next);
  }

  static void drop(State& s, bool pending) {
    if (s.entry == State::cached) s.entry = State::nothing;
    if (pending && (s.entry == State::under_way || s.entry == State::read)) s.orphan = true;
  }

  void step(const State& s) {
    if (runs(s, origin)) origin_steps(s);
    if (runs(s, writer)) writer_steps(s);
    if (runs(s, target)) target_steps(s);
    network_steps(s);
    if (s.round < limits_.rounds) collective_steps(s);
  }

  void origin_steps(const State& s) {
    // A get: acquires are applied before anything is looked up.
    State looked;
    std::memcpy(static_cast<void*>(&looked), static_cast<const void*>(&s), sizeof looked);
    if (looked.applied != looked.acquires) {
      looked.applied = looked.acquires;
      drop(looked, true);
    }
    if (looked.entry == State::cached) {
      ++hits_;
      if (looked.round > 0) ++kept_hits_;
      if (!may_serve(looked)) stale_ = true;
    } else if (looked.entry == State::nothing && looked.gets < limits_.gets) {
      to(looked, [](State& n) {
        n.entry = State::under_way;
        n.edges_fetched = 2;
        ++n.gets;
      });
    }
    if (s.entry == State::read)  // a flush; acquires are applied before bytes are kept
      to(s, [](State& n) {
        if (n.applied != n.acquires) {
          n.applied = n.acquires;
          drop(n, true);
        }
        n.entry = n.orphan ? State::nothing : State::cached;
        n.orphan = false;
      });
    if (s.message != 0)
      to(s, [&](State& n) {
        n.must_see[origin] = std::max<std::uint8_t>(n.must_see[origin], n.message - 1);
        n.message = 0;
        if (rules_.message_drops) ++n.acquires;
      });
  }

  static std::uint8_t bytes_of(std::uint8_t version) { return version % 2; }

  /// Of writes that nothing orders before the hit, any may have come or not.
  bool may_serve(const State& s) const {
    if (!limits_.edges) return s.value >= s.must_see[origin];
    for (std::uint8_t version = s.must_see[origin]; version <= s.memory; ++version)
      if (bytes_of(version) == bytes_of(s.value)) return true;
    return false;
  }

  void writer_steps(const State& s) {
    if (s.puts_issued < limits_.puts)
      for (const bool exposed : {false, true}) {
        if (exposed && !s.exposed) continue;
        to(s, [&](State& n) {
          Put& put = n.puts[n.puts_issued++];
          put = {Put::issued, 0, exposed, false};
          n.marks.written = n.puts_issued;
        });
      }
    for (std::size_t i = 0; i < s.puts.size(); ++i) {
      const Put& put = s.puts[i];
      if (put.state == Put::none || put.closed) continue;
      // A flush waits until it is there; the end of an access epoch of the other kind does not.
      if (put.state != Put::landed && !put.exposed_only) continue;
      const bool first =
          std::all_of(s.puts.begin(), s.puts.begin() + static_cast<std::ptrdiff_t>(i),
                      [](const Put& p) { return p.closed; });
      if (!first) continue;
      to(s, [&](State& n) {
        n.puts[i].closed = true;
        n.marks.settled = i + 1;
        if (!put.exposed_only)
          n.must_see[writer] = std::max(n.must_see[writer], n.puts[i].position);
      });
    }
    if (s.messages < limits_.messages && s.message == 0)
      to(s, [](State& n) {
        n.message = static_cast<std::uint8_t>(n.must_see[writer] + 1);
        ++n.messages;
      });
  }

  void target_steps(const State& s) {
    if (s.stores < limits_.stores)
      to(s, [](State& n) {
        ++n.stores;
        n.must_see[target] = ++n.memory;
        n.stored = true;
      });
    if (!s.posted)
      to(s, [](State& n) {
        n.posted = n.exposed = true;
        ++n.exposures;
      });
    if (s.exposed) {
      const bool all_there = std::all_of(s.puts.begin(), s.puts.end(), [](const Put& p) {
        return !p.exposed_only || (p.state == Put::landed && p.closed);
      });
      if (all_there)
        to(s, [](State& n) {
          n.exposed = false;
          ++n.exposures;
          for (const Put& put : n.puts)
            if (put.exposed_only) n.must_see[target] = std::max(n.must_see[target], put.position);
        });
    }
  }

  void network_steps(const State& s) {
    for (std::size_t i = 0; i < s.puts.size(); ++i)
      if (s.puts[i].state == Put::issued)
        to(s, [&](State& n) {
          n.puts[i].state = Put::landed;
          n.puts[i].position = ++n.memory;
        });
    if (s.entry == State::under_way)
      to(s, [](State& n) {
        n.entry = State::read;
        n.value = n.memory;
      });
  }

  void collective_steps(const State& s) {
    for (const Process process : {origin, writer, target})
      for (const bool other_data : {false, true}) {
        if (s.inside[process] || (other_data && (process != target || !limits_.edges))) continue;
        to(s, [&](State& n) {
          n.inside[process] = true;
          n.joint_must_see = std::max(n.joint_must_see, n.must_see[process]);
          if (other_data) n.stored = true;
          if (process == writer) notify_writes(n);
          if (process == target) notify_stores(n);
        });
      }
    if (!std::all_of(s.inside.begin(), s.inside.end(), [](bool in) { return in; })) return;
    for (const Process process : {origin, writer, target})
      for (const bool shown : {false, true}) {
        if (s.left[process] || (shown && (process != origin || !limits_.edges))) continue;
        to(s, [&](State& n) {
          n.left[process] = true;
          n.must_see[process] = std::max(n.must_see[process], n.joint_must_see);
          if (process == origin) keep_unchanged(n, shown);
          if (process == target && !rules_.watch_before) {
            n.watching = true;
            n.stored = false;
          }
          if (std::all_of(n.left.begin(), n.left.end(), [](bool out) { return out; })) {
            ++n.round;
            n.inside = n.left = {};
            n.changed = n.doubted = false;
            n.joint_must_see = 0;
          }
        });
      }
  }

  void notify_writes(State& n) {
    if (rules_.notify_again) {
      if (n.marks.notify()) n.changed = true;
    } else {
      if (n.marks.written > n.marks.notified) n.changed = true;
      n.marks.notified = n.marks.written;
    }
  }

  void notify_stores(State& n) {
    if (rules_.notify_exposure && (n.exposed || n.exposures != n.notified_exposures))
      n.changed = true;
    n.notified_exposures = n.exposures;
    if (n.watching && limits_.edges) {
      n.doubted = n.comparing = n.comparing || n.stored;
      if (bytes_of(n.memory) == bytes_of(n.copied)) return;
    }
    if (n.watching && !n.stored) return;
    n.changed = true;
    n.comparing = false;
    n.copied = n.memory;
    n.watching = rules_.watch_before;
    n.stored = false;
  }

  /// `shown`: the target shows its edges in this call.
  void settle_edges(State& n, bool shown) {
    if (n.doubted && n.edges_fetched != 0 && rules_.settle_edges) {
      if (!shown) drop(n, false);
      const std::uint8_t now = rules_.show_compared ? n.copied : n.memory;
      if (bytes_of(n.value) != bytes_of(now)) drop(n, false);
      if (n.entry != State::cached) drop(n, rules_.settle_pending);
    }
    const bool pending = n.entry == State::under_way || n.entry == State::read;
    if (n.doubted || n.edges_fetched == 0 || !rules_.two_calls)
      n.edges_fetched = 0;
    else
      --n.edges_fetched;
    if (pending && rules_.settle_pending) n.edges_fetched = 2;
  }

  void keep_unchanged(State& n, bool shown) {
    const std::uint8_t before = n.acquires++;
    if (n.applied != before && rules_.pass_over_own) return;
    if (n.changed) drop(n, rules_.drop_pending);
    if (!n.changed && limits_.edges) settle_edges(n, shown);
    n.applied = n.acquires;
  }

  Rules rules_;
  Limits limits_;
  std::vector<State> successors_;
  bool stale_ = false;
  std::size_t states_ = 0;
  std::uint64_t hits_ = 0, kept_hits_ = 0;
};

TEST(ValidationModel, NoInterleavingServesAnOldCopy) {
  for (const bool threads : {false, true}) {
    Model model({}, {.threads = threads});
    EXPECT_FALSE(model.fails());
    EXPECT_GT(model.states(), 10'000u);
    EXPECT_GT(model.kept_hits(), 1'000u) << "it never came to a copy that outlived a call";
    ::testing::Test::RecordProperty(threads ? "states_threads" : "states",
                                    std::to_string(model.states()));
  }
}

/// Without a rule some interleaving is wrong.
void expect_needed(bool Rules::*rule, const Limits& limits = {}) {
  Rules rules;
  rules.*rule = false;
  EXPECT_TRUE(Model(rules, limits).fails());
}

TEST(ValidationModel, WritesUnderWayMustBeToldAgain) {
  expect_needed(&Rules::notify_again, {.threads = false});
}
TEST(ValidationModel, OpenExposureEpochsMustBeTold) {
  expect_needed(&Rules::notify_exposure, {.threads = false});
}
TEST(ValidationModel, GetsUnderWayMustBeDropped) {
  expect_needed(&Rules::drop_pending, {.threads = false});
}
TEST(ValidationModel, StoresMustBeWatchedBeforeTelling) { expect_needed(&Rules::watch_before); }
TEST(ValidationModel, AMessageIsAnAcquireAsBefore) {
  expect_needed(&Rules::message_drops, {.threads = false});
}
TEST(ValidationModel, AnAcquireOfAnotherThreadIsNotPassedOver) {
  expect_needed(&Rules::pass_over_own);
}

constexpr Limits kEdges{.rounds = 4, .puts = 0, .stores = 2, .messages = 0, .edges = true};

TEST(ValidationModel, NoInterleavingServesAnOldCopyOfAnEdge) {
  for (const bool threads : {false, true}) {
    Limits limits = kEdges;
    limits.threads = threads;
    Model model({}, limits);
    EXPECT_FALSE(model.fails());
    EXPECT_GT(model.kept_hits(), 1'000u) << "it never came to a copy that outlived a call";
  }
  EXPECT_FALSE(Model({}, {.gets = 1, .edges = true}).fails()) << "with a put";
}
TEST(ValidationModel, CopiesOfEdgesInDoubtMustBeSettled) {
  expect_needed(&Rules::settle_edges, kEdges);
}
TEST(ValidationModel, EdgesUnderWayMustBeSettled) { expect_needed(&Rules::settle_pending, kEdges); }
TEST(ValidationModel, EdgesAreInDoubtAfterOneCallWithoutStores) {
  expect_needed(&Rules::two_calls, kEdges);
}
TEST(ValidationModel, EdgesAreShownAsTheyAreCompared) {
  expect_needed(&Rules::show_compared, kEdges);
}

/// Many targets, in random steps: what members report is united in any order, in a form that may
/// say too much. A copy that was not reported is as new as its target's memory when all had entered
/// the call, and where few targets were written to, nothing else is dropped.
class ManyTargets : public testing::Test {
 protected:
  struct Window {
    std::uint64_t number;
    std::vector<int> written;  ///< how often, of each target, so far
    std::vector<int> copies;   ///< that a process keeps: of how many writes they know; -1: none
  };

  /// Of `windows`; a call in which some members write at most `writes` times each. Copies dropped
  /// although nobody wrote to their target.
  std::size_t call(std::vector<Window>& windows, int members, int writers, int writes) {
    std::vector<Changes> notified(static_cast<std::size_t>(writers));
    std::set<std::pair<std::uint64_t, int>> written;
    for (Changes& changes : notified) {
      changes.begin(static_cast<std::uint64_t>(members),
                    static_cast<std::uint64_t>(members) * windows.size());
      for (int i = 0; i < writes; ++i) {
        Window& window = windows[below(windows.size())];
        const auto target = static_cast<int>(below(static_cast<std::size_t>(members)));
        ++window.written[static_cast<std::size_t>(target)];
        changes.add(window.number, target);
        written.insert({window.number, target});
      }
    }
    while (notified.size() > 1) {
      Changes& into = notified[below(notified.size() - 1)];
      EXPECT_TRUE(into.large());
      into.many().unite(notified.back().many());
      notified.pop_back();
    }
    std::size_t in_vain = 0;
    for (Window& window : windows)
      for (int target = 0; target < members; ++target) {
        int& copy = window.copies[static_cast<std::size_t>(target)];
        const int now = window.written[static_cast<std::size_t>(target)];
        if (notified.front().may_have_changed(window.number, target)) {
          in_vain += written.count({window.number, target}) == 0 ? 1 : 0;
          copy = -1;
        }
        EXPECT_TRUE(copy == -1 || copy == now) << "an old copy of target " << target;
        copy = now;  // fetched again
      }
    return in_vain;
  }

  static std::vector<Window> windows(std::size_t count, int members) {
    std::vector<Window> result;
    for (std::size_t i = 0; i < count; ++i)
      result.push_back({5 * i + 1, std::vector<int>(static_cast<std::size_t>(members)),
                        std::vector<int>(static_cast<std::size_t>(members))});
    return result;
  }

  std::size_t below(std::size_t limit) { return random_() % limit; }

  std::mt19937 random_{2026};
};

TEST_F(ManyTargets, NoCopyThatIsKeptIsOld) {
  const std::pair<std::size_t, int> shapes[] = {{1, 513}, {1, 5000}, {3, 700}, {200, 16}};
  for (const auto& [count, members] : shapes) {
    auto all = windows(count, members);
    for (int round = 0; round < 20; ++round) call(all, members, 1 + round * 7, 1 + round);
  }
}

TEST_F(ManyTargets, NothingElseIsDroppedWhereFewAreWritten) {
  for (const int members : {513, 4096, 20'000}) {
    auto all = windows(2, members);
    for (int round = 0; round < 5; ++round) EXPECT_EQ(call(all, members, 20, 3), 0u) << members;
  }
}

}  // namespace
}  // namespace hob::validation
