// The life of a cached byte in every interleaving of a small program: an origin that gets, writes,
// flushes and receives; a process that writes and sends; another rank of the origin's node that
// fetches the same bytes; blocks fetched ahead. No get may be served bytes that are older than what
// the origin must see (docs/consistency.md). Each rule is also left out once: then some
// interleaving is wrong, or the rule would not be needed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <unordered_set>
#include <vector>

#include "gets/invalidation_epochs.hpp"
#include "gets/plan.hpp"
#include "validation/write_marks.hpp"

namespace hob::gets {
namespace {

/// What the glue does at plans and events; one may be left out at a time.
struct Rules {
  bool acquire_drops = true;            ///< copies from before an acquire are dropped
  bool acquire_drops_pending = true;    ///< so are those that are under way
  bool write_drops = true;              ///< an own write drops what it overlaps
  bool write_drops_pending = true;      ///< also what is under way
  bool unkept_while_writing = true;     ///< decide() knows of own writes under way: exact gets,
  bool no_blocks_while_writing = true;  ///< blocks,
  bool no_tail_while_writing = true;    ///< and ends
  bool floor = true;                    ///< records of the node are true from a floor on
  bool floor_epoch = true;              ///< which an acquire or a write takes away
};

/// The bytes: two halves, each of which counts the writes that have landed. A short get reads the
/// first, a long one both. Own writes are to the second.
constexpr std::size_t kHalves = 2;
using Values = std::array<std::uint8_t, kHalves>;

struct UnderWay {
  bool active = false, read = false;
  bool fills = false;  ///< the entry is its to fill, if nothing dropped it
  std::uint8_t from = 0, to = 0;
  std::uint8_t waiters = 0;  ///< halves that waiters want
  Values value{};
  Values waiters_must{};  ///< what the youngest waiter must see
  std::uint64_t epoch = 0;
};

struct State {
  Values memory{};
  Values must{};  ///< see, by MPI's rules, at the origin

  enum : std::uint8_t { nothing, pending, cached } entry = nothing;
  std::uint8_t halves = 0;  ///< of the entry
  Values value{};
  std::array<UnderWay, 2> gets{};

  std::uint8_t puts_issued = 0;
  bool put_under_way = false, put_landed = false;
  std::uint8_t put_version = 0;
  validation::WriteMarks marks{};
  InvalidationEpochs epochs{};
  std::uint64_t invalidated = 0;
  std::uint8_t acquires = 0, applied = 0;

  // the writer
  std::uint8_t writes = 0;
  bool sent = false, received = false;
  Values message{};

  // the node
  std::uint8_t clock = 1, floor = 0;
  std::uint64_t floor_epoch = 0;
  std::uint8_t neighbour = 0;  ///< 0: has not begun; 1: its get is under way; 2: in the log
  std::uint8_t record_issued = 0;
  Values record{};

  std::uint8_t asked = 0;  ///< gets

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

void copy(State& to, const State& from) {  // padding as well: states are compared by it
  std::memcpy(static_cast<void*>(&to), static_cast<const void*>(&from), sizeof to);
}

class Model {
 public:
  explicit Model(const Rules& rules) : rules_(rules) {}

  /// Whether some interleaving serves bytes that are too old.
  bool fails() {
    alignas(State) std::array<unsigned char, sizeof(State)> room{};  // padding is 0 in all states
    const State& first = *new (room.data()) State;
    std::unordered_set<State, Hash> seen;
    std::deque<State> open;
    const auto add = [&](const State& state) {
      if (seen.insert(state).second) open.push_back(state);
    };
    add(first);
    while (!open.empty() && !stale_) {
      State state;
      copy(state, open.front());
      open.pop_front();
      step(state, add);
    }
    states_ = seen.size();
    return stale_;
  }

  std::size_t states() const { return states_; }
  std::uint64_t made(Plan plan) const { return made_[static_cast<std::size_t>(plan)]; }

 private:
  static constexpr std::uint8_t kGets = 4;

  /// What decide() asks.
  struct Context {
    const Rules& rules;
    const State& s;
    bool ahead;

    bool writing() const { return s.marks.writing() && rules.unkept_while_writing; }
    bool polled() const { return false; }
    bool aged() const { return false; }
    bool divisible() const { return true; }
    bool shared() const { return true; }
    bool readahead() const { return ahead; }
  };

  template <class Add>
  void step(const State& s, Add add) {
    const auto to = [&](auto change) {
      State next;
      copy(next, s);
      if (change(next)) add(next);
    };
    // The network.
    for (std::size_t i = 0; i < s.gets.size(); ++i)
      if (s.gets[i].active && !s.gets[i].read)
        to([&](State& n) {
          n.gets[i].read = true;
          n.gets[i].value = n.memory;
          return true;
        });
    if (s.put_under_way && !s.put_landed)
      to([](State& n) {
        n.put_landed = true;
        n.put_version = ++n.memory[1];
        return true;
      });
    // The writer.
    if (s.writes < 1)
      to([](State& n) {
        ++n.writes;
        ++n.memory[0], ++n.memory[1];
        return true;
      });
    if (s.writes != 0 && !s.sent)
      to([](State& n) {
        n.sent = true;
        n.message = n.memory;
        return true;
      });
    // The other rank of the node.
    if (s.neighbour == 0)
      to([](State& n) {
        n.neighbour = 1;
        n.record_issued = n.clock;
        n.record = n.memory;  // read at once: the earliest, hence the worst
        return true;
      });
    if (s.neighbour == 1)
      to([](State& n) {
        n.neighbour = 2;
        return true;
      });
    // The origin.
    if (s.sent && !s.received)
      to([](State& n) {
        n.received = true;
        ++n.acquires;
        for (std::size_t h = 0; h < kHalves; ++h) n.must[h] = std::max(n.must[h], n.message[h]);
        return true;
      });
    if (s.puts_issued < 1)
      to([&](State& n) {
        ++n.puts_issued;
        n.put_under_way = true;
        n.marks.written = 1;
        n.epochs.advance(n.invalidated);
        if (n.entry == State::cached && n.halves == kHalves && rules_.write_drops) drop(n);
        if (n.entry == State::pending && n.halves == kHalves && rules_.write_drops_pending) drop(n);
        return true;
      });
    if (s.asked < kGets)
      for (const bool ahead : {false, true})
        for (const std::uint8_t halves : {1, 2})
          to([&](State& n) { return get(n, halves, ahead); });
    const bool idle = (!s.put_under_way || s.put_landed) &&
                      std::all_of(s.gets.begin(), s.gets.end(),
                                  [](const UnderWay& get) { return !get.active || get.read; });
    const bool something =
        s.put_under_way ||
        std::any_of(s.gets.begin(), s.gets.end(), [](const UnderWay& get) { return get.active; });
    if (idle && something) to([&](State& n) { return flush(n); });
  }

  static void drop(State& n) {
    n.entry = State::nothing;
    n.halves = 0;
    n.value = {};
    for (UnderWay& get : n.gets) get.fills = false;
  }

  void apply_acquires(State& n) {
    if (n.applied == n.acquires) return;
    n.applied = n.acquires;
    if (n.entry == State::cached && rules_.acquire_drops) drop(n);
    if (n.entry == State::pending && rules_.acquire_drops_pending) drop(n);
    n.epochs.advance_all();
  }

  void check(const Values& value, const Values& must, std::uint8_t from, std::uint8_t to) {
    for (std::size_t h = from; h < to; ++h)
      if (value[h] < must[h]) stale_ = true;
  }

  /// A get of the origin. With `ahead`, one whose miss fetches blocks.
  bool get(State& n, std::uint8_t halves, bool ahead) {
    ++n.asked;
    apply_acquires(n);
    cache::Hit found = cache::Hit::missing;
    if (n.entry == State::cached)
      found = n.halves >= halves ? cache::Hit::full : cache::Hit::partial;
    else if (n.entry == State::pending)
      found = n.halves >= halves ? cache::Hit::pending_full : cache::Hit::pending_partial;
    const Context context{rules_, n, ahead};
    Plan plan = decide(found, context);
    // Two of the rules are about one plan alone.
    if (n.marks.writing() && !rules_.no_blocks_while_writing && ahead &&
        found == cache::Hit::missing)
      plan = Plan::blocks;
    if (n.marks.writing() && !rules_.no_tail_while_writing && found == cache::Hit::partial)
      plan = Plan::tail;
    while (!carry_out(n, plan, halves)) plan = otherwise(plan, context);
    ++made_[static_cast<std::size_t>(plan)];
    return !full_;
  }

  bool carry_out(State& n, Plan plan, std::uint8_t halves) {
    full_ = false;
    switch (plan) {
      case Plan::hit:
        check(n.value, n.must, 0, halves);
        return true;
      case Plan::join:
        return join(n, halves);
      case Plan::from_node:
        return from_node(n, halves);
      case Plan::tail:
        check(n.value, n.must, 0, 1);
        return issue(n, 1, kHalves, true);
      case Plan::replace:
        drop(n);
        return issue(n, 0, halves, true);
      case Plan::blocks:
        return issue(n, 0, kHalves, true);
      case Plan::exact:
        return issue(n, 0, halves, true);
      case Plan::unkept:
        return issue(n, 0, halves, false);
      case Plan::refetch:
      case Plan::renew:
      case Plan::fragments:
        break;
    }
    return false;
  }

  bool join(State& n, std::uint8_t halves) {
    for (UnderWay& get : n.gets) {
      if (!get.active || !get.fills || get.from != 0) continue;
      get.waiters = std::max(get.waiters, halves);
      for (std::size_t h = 0; h < halves; ++h)
        get.waiters_must[h] = std::max(get.waiters_must[h], n.must[h]);
      return true;
    }
    return false;
  }

  bool from_node(State& n, std::uint8_t halves) {
    if (n.marks.writing() || n.neighbour != 2) return false;
    if (rules_.floor && (n.floor == 0 || n.record_issued < n.floor)) return false;
    if (rules_.floor_epoch && n.epochs.any(n.invalidated, n.floor_epoch)) return false;
    check(n.record, n.must, 0, halves);
    return true;
  }

  bool issue(State& n, std::uint8_t from, std::uint8_t to, bool keep) {
    for (UnderWay& get : n.gets) {
      if (get.active) continue;
      get = {};
      get.active = true;
      get.from = from;
      get.to = to;
      get.epoch = n.epochs.now();
      if (keep) {
        get.fills = true;
        n.entry = State::pending;
        n.halves = to;
      }
      return true;
    }
    full_ = true;  // more gets than the model has room for
    return true;
  }

  /// All that was issued is complete.
  bool flush(State& n) {
    n.marks.settled = n.marks.written;
    if (n.put_under_way) n.must[1] = std::max(n.must[1], n.put_version);
    n.put_under_way = n.put_landed = false;
    apply_acquires(n);
    for (UnderWay& get : n.gets) {
      if (!get.active) continue;
      check(get.value, get.waiters_must, 0, get.waiters);
      if (get.fills && n.entry == State::pending) {
        for (std::size_t h = get.from; h < get.to; ++h) n.value[h] = get.value[h];
        n.entry = State::cached;
      }
      const bool old = n.floor == 0 || n.epochs.any(n.invalidated, n.floor_epoch);
      if (old && !n.epochs.any(n.invalidated, get.epoch)) {
        n.floor = ++n.clock;
        n.floor_epoch = get.epoch;
      }
      get = {};
    }
    return true;
  }

  Rules rules_;
  bool stale_ = false, full_ = false;
  std::size_t states_ = 0;
  std::array<std::uint64_t, 11> made_{};
};

TEST(GetsModel, NoInterleavingServesWhatIsTooOld) {
  Model model({});
  EXPECT_FALSE(model.fails());
  EXPECT_GT(model.states(), 10'000u);
  for (const Plan plan : {Plan::hit, Plan::join, Plan::tail, Plan::from_node, Plan::blocks,
                          Plan::exact, Plan::unkept})
    EXPECT_GT(model.made(plan), 0u) << name_of(plan);
}

struct LeftOut {
  const char* name;
  bool Rules::*rule;
};

class GetsModelWithout : public ::testing::TestWithParam<LeftOut> {};

TEST_P(GetsModelWithout, SomeInterleavingIsWrong) {
  Rules rules;
  rules.*GetParam().rule = false;
  EXPECT_TRUE(Model(rules).fails());
}

INSTANTIATE_TEST_SUITE_P(
    Rules, GetsModelWithout,
    ::testing::Values(LeftOut{"acquire_drops", &Rules::acquire_drops},
                      LeftOut{"acquire_drops_pending", &Rules::acquire_drops_pending},
                      LeftOut{"write_drops", &Rules::write_drops},
                      LeftOut{"write_drops_pending", &Rules::write_drops_pending},
                      LeftOut{"unkept_while_writing", &Rules::unkept_while_writing},
                      LeftOut{"no_blocks_while_writing", &Rules::no_blocks_while_writing},
                      LeftOut{"no_tail_while_writing", &Rules::no_tail_while_writing},
                      LeftOut{"floor", &Rules::floor}, LeftOut{"floor_epoch", &Rules::floor_epoch}),
    [](const auto& which) { return std::string(which.param.name); });

}  // namespace
}  // namespace hob::gets
