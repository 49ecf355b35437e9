// Every strategy against the reference, on random sequences of all calls. TESTS_SEED repeats a
// run, HOB_TEST_OPS makes it longer.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>

#include "match/engine.hpp"
#include "reference.hpp"

namespace hob::match::test {
namespace {

std::uint64_t number_from(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

/// What kind of program the calls come from.
struct Profile {
  const char* name;
  std::uint32_t contexts;
  std::int32_t sources;
  std::int32_t tags;
  double kAnySource;  // how many receives have the wildcard
  double kAnyTag;
  std::size_t longest;  // the queues grow and shrink between 0 and this
  double cancel;
  std::size_t least_messages = 0;  // unexpected
  int calls_per_tag = 1000000000;  // then all tags are one higher
};

const Profile profiles[] = {
    {"short", 2, 3, 3, 0.2, 0.2, 12, 0.1},
    {"around_threshold", 1, 4, 8, 0.1, 0.1, 24, 0.05},
    {"exact_deep", 1, 50, 50, 0, 0, 400, 0.02},
    {"few_wildcards", 3, 20, 20, 0.05, 0.05, 300, 0.02},
    {"many_wildcards", 2, 4, 4, 0.5, 0.5, 300, 0.05},
    {"any_source_only", 1, 30, 30, 0.5, 0, 300, 0.02},
    {"any_tag_only", 1, 30, 30, 0, 0.5, 300, 0.02},
    {"same_envelope", 1, 1, 1, 0.1, 0.1, 300, 0.05},
    {"many_contexts", 40, 3, 3, 0.2, 0.2, 200, 0.05},
    {"cancel_most", 2, 10, 10, 0.2, 0.2, 200, 0.5},
    {"very_deep", 2, 100, 100, 0.01, 0.01, 4000, 0.02},
    {"two_messages", 1, 2, 2, 0.3, 0.3, 3000, 0.02},
    {"changing_wildcards", 1, 16, 16, 0.03, 0.03, 40, 0.02, 12, 400},
};

const char* const strategies[] = {"flat",   "list",   "lla-2",        "lla-4", "lla-8",  "lla-16",
                                  "lla-32", "lla-64", "source-array", "hash",  "hash-1", "hash-16"};

/// Keeps account of the blocks that an engine says it has.
class Account final : public MemoryObserver {
 public:
  void added(const void* address, std::size_t bytes) noexcept override { blocks_[address] = bytes; }
  void removed(void* address, std::size_t bytes, void (*release)(void*)) noexcept override {
    EXPECT_EQ(blocks_[address], bytes);
    blocks_.erase(address);
    release(address);
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& [address, bytes] : blocks_) sum += bytes;
    return sum;
  }

 private:
  std::map<const void*, std::size_t> blocks_;
};

void* pointer(std::uintptr_t item) { return reinterpret_cast<void*>(item); }
std::uintptr_t number(const void* item) { return reinterpret_cast<std::uintptr_t>(item); }

class Sequence {
 public:
  Sequence(Engine& engine, const Profile& profile, std::uint64_t seed)
      : engine_(engine), profile_(profile), random_(seed) {}

  void step() {
    ++calls_;
    // Long stretches of growth and of shrinking, on either side, so that both queues get deep.
    if (left_in_phase_-- == 0) {
      left_in_phase_ = 1 + below(2 * profile_.longest);
      receive_share_ = below(5) * 0.25;
    }
    if (chance(profile_.cancel) && !reference_.posted.empty()) return cancel();
    if (chance(0.1)) return probe();
    bool receive = chance(receive_share_);
    if (reference_.posted.size() >= profile_.longest) receive = false;
    if (reference_.unexpected.size() >= profile_.longest) receive = true;
    if (reference_.unexpected.size() < profile_.least_messages) receive = false;
    receive ? post() : arrive();
  }

  /// All that can be seen of the queues.
  void compare() {
    ASSERT_EQ(engine_.posted_length(), reference_.posted.size());
    ASSERT_EQ(engine_.unexpected_length(), reference_.unexpected.size());
    for (std::uint32_t context = 0; context < profile_.contexts; ++context) {
      auto expected = Reference::of_context(reference_.posted, context);
      std::vector<Posted> posted;
      engine_.posted(context, posted);
      ASSERT_EQ(posted.size(), expected.size());
      for (std::size_t i = 0; i < posted.size(); ++i) {
        ASSERT_EQ(number(posted[i].request), expected[i].item);
        ASSERT_EQ(posted[i].want, expected[i].envelope);
        ASSERT_EQ(posted[i].handle, posted_[expected[i].item]);
      }
      auto oldest = engine_.oldest_posted(context);
      ASSERT_EQ(oldest.has_value(), !expected.empty());
      if (oldest) {
        ASSERT_EQ(number(oldest->request), expected[0].item);
      }

      expected = Reference::of_context(reference_.unexpected, context);
      std::vector<Unexpected> unexpected;
      engine_.unexpected(context, unexpected);
      ASSERT_EQ(unexpected.size(), expected.size());
      for (std::size_t i = 0; i < unexpected.size(); ++i) {
        ASSERT_EQ(number(unexpected[i].message), expected[i].item);
        ASSERT_EQ(unexpected[i].envelope, expected[i].envelope);
        ASSERT_EQ(unexpected[i].handle, unexpected_[expected[i].item]);
      }
    }
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(random_) < p; }

  Envelope message() {
    return {static_cast<std::uint32_t>(below(profile_.contexts)),
            static_cast<std::int32_t>(below(static_cast<std::size_t>(profile_.sources))),
            static_cast<std::int32_t>(below(static_cast<std::size_t>(profile_.tags))) - 1 +
                calls_ / profile_.calls_per_tag};
  }

  Envelope want() {
    Envelope envelope = message();
    if (chance(profile_.kAnySource)) envelope.source = kAnySource;
    if (chance(profile_.kAnyTag)) envelope.tag = kAnyTag;
    return envelope;
  }

  void post() {
    Envelope envelope = want();
    std::uintptr_t request = ++last_item_;
    auto expected = reference_.post(envelope, request);
    PostResult result = engine_.post(envelope, pointer(request));
    ASSERT_EQ(number(result.message), expected.value_or(0));
    if (expected) {
      unexpected_.erase(*expected);
    } else {
      posted_[request] = result.handle;
    }
  }

  void arrive() {
    Envelope envelope = message();
    std::uintptr_t item = ++last_item_;
    auto expected = reference_.arrive(envelope, item);
    ArriveResult result = engine_.arrive(envelope, pointer(item));
    ASSERT_EQ(number(result.request), expected.value_or(0));
    if (expected) {
      posted_.erase(*expected);
    } else {
      unexpected_[item] = result.handle;
    }
  }

  void cancel() {
    std::uintptr_t request = Reference::take(reference_.posted, below(reference_.posted.size()));
    ASSERT_EQ(number(engine_.cancel(posted_.at(request))), request);
    posted_.erase(request);
  }

  void probe() {
    Envelope envelope = want();
    auto expected = reference_.probe(envelope);
    auto found = engine_.probe(envelope);
    ASSERT_EQ(found.has_value(), expected.has_value());
    if (!found) return;
    ASSERT_EQ(number(found->message), *expected);
    ASSERT_EQ(found->handle, unexpected_.at(*expected));
    if (!chance(0.5)) return;
    ASSERT_EQ(number(engine_.extract(found->handle)), *expected);
    unexpected_.erase(*expected);
    std::erase_if(reference_.unexpected,
                  [&](const auto& entry) { return entry.item == *expected; });
  }

  Engine& engine_;
  const Profile& profile_;
  std::mt19937_64 random_;
  Reference reference_;
  std::unordered_map<std::uintptr_t, Handle> posted_;
  std::unordered_map<std::uintptr_t, Handle> unexpected_;
  std::uintptr_t last_item_ = 0;
  int calls_ = 0;
  std::size_t left_in_phase_ = 0;
  double receive_share_ = 0.5;
};

class Property : public testing::TestWithParam<std::tuple<const char*, Profile>> {};

TEST_P(Property, GivesTheMatchesOfTheReference) {
  const auto& [name, profile] = GetParam();
  static const std::uint64_t seed = number_from("TESTS_SEED", std::random_device{}());
  static const bool said =
      (std::printf("TESTS_SEED=%llu\n", static_cast<unsigned long long>(seed)), true);
  (void)said;
  std::uint64_t ops = number_from("HOB_TEST_OPS", 20000);
  SCOPED_TRACE("TESTS_SEED=" + std::to_string(seed));
  Account account;
  Config config = *parse_strategy(name);
  config.observer = &account;
  {
    std::unique_ptr<Engine> engine = make_engine(config);
    Sequence run(*engine, profile, seed);
    for (std::uint64_t op = 0; op < ops; ++op) {
      run.step();
      if (op % 1024 == 0) run.compare();
      if (HasFatalFailure()) FAIL() << "at call " << op;
    }
    EXPECT_EQ(account.bytes(), engine->memory_bytes());
  }
  EXPECT_EQ(account.bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Property,
                         testing::Combine(testing::ValuesIn(strategies),
                                          testing::ValuesIn(profiles)),
                         [](const auto& test) {
                           std::string name = std::get<0>(test.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + "_" + std::get<1>(test.param).name;
                         });

}  // namespace
}  // namespace hob::match::test
