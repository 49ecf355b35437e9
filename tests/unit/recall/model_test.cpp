// The life of a recalled byte in every interleaving of a small program: an origin that gets a place
// A, beside which a place B is recalled, gets B, writes to B, receives, and looks again at A; and a
// process that writes B, then A, and sends. No get may be served bytes that are older than what the
// origin must see (docs/consistency.md, "Recalled"). Each rule is also left out once: then some
// interleaving is wrong, or the rule would not be needed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <type_traits>
#include <unordered_set>

#include "gets/plan.hpp"
#include "validation/write_marks.hpp"

namespace hob::gets {
namespace {

struct Rules {
  bool acquire_drops = true;          ///< recalled bytes from before an acquire are dropped
  bool acquire_drops_pending = true;  ///< so are those that are under way
  bool write_drops = true;            ///< an own write drops what it overlaps
  bool write_drops_pending = true;    ///< also what is under way
  bool none_while_writing = true;     ///< nothing is recalled while own writes are under way
  bool change_is_acquire = true;      ///< a place that is fetched again and has changed drops all
};

constexpr std::uint8_t kA = 0, kB = 1;

struct UnderWay {
  std::uint8_t active = 0, read = 0, place = 0;
  std::uint8_t fills = 0;   ///< the entry is its to fill, if nothing dropped it
  std::uint8_t again = 0;   ///< a hit, fetched again to compare
  std::uint8_t served = 0;  ///< of that hit
  std::uint8_t waits = 0;   ///< the program wants the bytes
  std::uint8_t must = 0;    ///< what it must see then
  std::uint8_t value = 0;
};

enum Entry : std::uint8_t { nothing, pending, cached };

/// Bytes alone, so that states are compared and kept as words.
struct State {
  std::array<std::uint8_t, 2> memory{}, must{}, entry{}, value{};
  std::array<UnderWay, 3> gets{};
  std::uint8_t puts = 0, put_under_way = 0, put_landed = 0, put_version = 0;
  std::uint8_t acquires = 0, applied = 0;
  std::uint8_t wrote = 0, sent = 0, received = 0;
  std::uint8_t b_when_a = 0;  ///< the version of B when A was written
  std::array<std::uint8_t, 2> message{};
  std::uint8_t asked = 0, recalled = 0;

  std::string word() const { return {reinterpret_cast<const char*>(this), sizeof *this}; }
};
static_assert(std::has_unique_object_representations_v<State>);

class Model {
 public:
  explicit Model(const Rules& rules) : rules_(rules) {}

  /// Whether some interleaving serves bytes that are too old.
  bool fails() {
    std::deque<State> open{State{}};
    std::unordered_set<std::string> seen{State{}.word()};
    const auto add = [&](const State& state) {
      if (seen.insert(state.word()).second) open.push_back(state);
    };
    while (!open.empty() && !stale_) {
      const State state = open.front();
      open.pop_front();
      step(state, add);
    }
    states_ = seen.size();
    return stale_;
  }

  std::size_t states() const { return states_; }
  int recalled_hits() const { return recalled_hits_; }
  int recalled_joins() const { return recalled_joins_; }

 private:
  static constexpr std::uint8_t kGets = 5;

  struct Context {
    bool under_way, again;
    bool writing() const { return under_way; }
    bool polled() const { return again; }
    bool aged() const { return false; }
    bool divisible() const { return false; }
    bool shared() const { return false; }
    bool readahead() const { return false; }
  };

  template <class Add>
  void step(const State& s, Add add) {
    const auto to = [&](auto change) {
      State next = s;
      if (change(next)) add(next);
    };
    // The network.
    for (std::size_t i = 0; i < s.gets.size(); ++i)
      if (s.gets[i].active && !s.gets[i].read)
        to([&](State& n) {
          n.gets[i].read = 1;
          n.gets[i].value = n.memory[n.gets[i].place];
          return true;
        });
    if (s.put_under_way && !s.put_landed)
      to([](State& n) {
        n.put_landed = 1;
        n.put_version = ++n.memory[kB];
        return true;
      });
    // The writer.
    if (s.wrote < 2)
      to([](State& n) {
        const std::uint8_t place = n.wrote == 0 ? kB : kA;
        ++n.wrote;
        ++n.memory[place];
        if (place == kA) n.b_when_a = n.memory[kB];
        return true;
      });
    if (s.wrote == 2 && !s.sent)
      to([](State& n) {
        n.sent = 1;
        n.message = n.memory;
        return true;
      });
    // The origin.
    if (s.sent && !s.received)
      to([&](State& n) {
        n.received = 1;
        ++n.acquires;
        for (std::size_t p = 0; p < 2; ++p) n.must[p] = std::max(n.must[p], n.message[p]);
        return true;
      });
    if (s.puts == 0)
      to([&](State& n) {
        n.puts = n.put_under_way = 1;
        if (n.entry[kB] == cached && (!n.recalled || rules_.write_drops)) drop(n, kB);
        if (n.entry[kB] == pending && (!n.recalled || rules_.write_drops_pending)) drop(n, kB);
        return true;
      });
    if (s.asked < kGets) {
      to([&](State& n) { return get(n, kA, false); });
      to([&](State& n) { return get(n, kA, true); });
      to([&](State& n) { return get(n, kB, false); });
    }
    const bool idle = (!s.put_under_way || s.put_landed) &&
                      std::all_of(s.gets.begin(), s.gets.end(),
                                  [](const UnderWay& get) { return !get.active || get.read; });
    const bool something =
        s.put_under_way || std::any_of(s.gets.begin(), s.gets.end(),
                                       [](const UnderWay& get) { return get.active != 0; });
    if (idle && something) to([&](State& n) { return flush(n); });
  }

  static void drop(State& n, std::uint8_t place) {
    n.entry[place] = nothing;
    n.value[place] = 0;
    for (UnderWay& get : n.gets)
      if (get.place == place) get.fills = 0;
    if (place == kB) n.recalled = 0;
  }

  void apply_acquires(State& n) {
    if (n.applied == n.acquires) return;
    n.applied = n.acquires;
    for (const std::uint8_t place : {kA, kB}) {
      const bool recalled = place == kB && n.recalled;
      if (n.entry[place] == cached && (!recalled || rules_.acquire_drops)) drop(n, place);
      if (n.entry[place] == pending && (!recalled || rules_.acquire_drops_pending)) drop(n, place);
    }
  }

  void check(std::uint8_t value, std::uint8_t must) {
    if (value < must) stale_ = true;
  }

  bool get(State& n, std::uint8_t place, bool again) {
    ++n.asked;
    apply_acquires(n);
    const cache::Hit found = n.entry[place] == cached    ? cache::Hit::full
                             : n.entry[place] == pending ? cache::Hit::pending_full
                                                         : cache::Hit::missing;
    if (again && found != cache::Hit::full) return false;
    const Context context{n.put_under_way != 0, again};
    Plan plan = decide(found, context);
    if (plan == Plan::join && !join(n, place)) plan = otherwise(plan, context);
    switch (plan) {
      case Plan::hit:
        recalled_hits_ += place == kB && n.recalled;
        check(n.value[place], n.must[place]);
        return true;
      case Plan::join:
        return true;
      case Plan::refetch: {
        UnderWay* const its = issue(n, place);
        if (!its) return false;
        its->again = 1;
        its->served = n.value[place];
        return true;
      }
      case Plan::exact:
      case Plan::unkept: {
        UnderWay* const its = issue(n, place);
        if (!its) return false;
        its->waits = 1;
        its->must = n.must[place];
        if (plan == Plan::exact) {
          its->fills = 1;
          n.entry[place] = pending;
        }
        if (place == kA && found == cache::Hit::missing &&
            (!n.put_under_way || !rules_.none_while_writing))
          recall(n);
        return true;
      }
      default:
        ADD_FAILURE() << name_of(plan);
        return false;
    }
  }

  void recall(State& n) {
    if (n.entry[kB] != nothing) return;
    UnderWay* const its = issue(n, kB);
    if (!its) return;
    its->fills = 1;
    n.entry[kB] = pending;
    n.recalled = 1;
  }

  bool join(State& n, std::uint8_t place) {
    for (UnderWay& get : n.gets) {
      if (!get.active || !get.fills || get.place != place) continue;
      recalled_joins_ += place == kB && n.recalled;
      get.waits = 1;
      get.must = std::max(get.must, n.must[place]);
      return true;
    }
    return false;
  }

  static UnderWay* issue(State& n, std::uint8_t place) {
    for (UnderWay& get : n.gets) {
      if (get.active) continue;
      get = {};
      get.active = 1;
      get.place = place;
      return &get;
    }
    return nullptr;
  }

  /// All that was issued is complete.
  bool flush(State& n) {
    if (n.put_under_way) n.must[kB] = std::max(n.must[kB], n.put_version);
    n.put_under_way = n.put_landed = 0;
    apply_acquires(n);
    bool changed = false;
    for (UnderWay& get : n.gets) {
      if (!get.active) continue;
      if (get.waits) check(get.value, get.must);
      if (get.again && get.value != get.served) {
        // A program that sees a flag expects what was written before it.
        changed = true;
        n.must[kB] = std::max(n.must[kB], n.b_when_a);
      }
      if (get.fills && n.entry[get.place] == pending) {
        n.value[get.place] = get.value;
        n.entry[get.place] = cached;
      }
      get = {};
    }
    if (changed && rules_.change_is_acquire) ++n.acquires;
    return true;
  }

  Rules rules_;
  bool stale_ = false;
  std::size_t states_ = 0;
  int recalled_hits_ = 0, recalled_joins_ = 0;
};

TEST(RecallModel, NoInterleavingServesWhatIsTooOld) {
  Model model({});
  EXPECT_FALSE(model.fails());
  EXPECT_GT(model.states(), 10'000u);
  EXPECT_GT(model.recalled_hits(), 0);
  EXPECT_GT(model.recalled_joins(), 0);
}

struct LeftOut {
  const char* name;
  bool Rules::*rule;
};

class RecallModelWithout : public ::testing::TestWithParam<LeftOut> {};

TEST_P(RecallModelWithout, SomeInterleavingIsWrong) {
  Rules rules;
  rules.*GetParam().rule = false;
  EXPECT_TRUE(Model(rules).fails());
}

INSTANTIATE_TEST_SUITE_P(
    Rules, RecallModelWithout,
    ::testing::Values(LeftOut{"acquire_drops", &Rules::acquire_drops},
                      LeftOut{"acquire_drops_pending", &Rules::acquire_drops_pending},
                      LeftOut{"write_drops", &Rules::write_drops},
                      LeftOut{"write_drops_pending", &Rules::write_drops_pending},
                      LeftOut{"none_while_writing", &Rules::none_while_writing},
                      LeftOut{"change_is_acquire", &Rules::change_is_acquire}),
    [](const auto& which) { return std::string(which.param.name); });

}  // namespace
}  // namespace hob::gets
