#include "match/engine.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "match/flat/flat_queue.hpp"

namespace hob::match {
namespace {

void* item(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

TEST(ParseStrategy, ReadsWhatItPrints) {
  for (const char* name : {"flat", "list", "lla-2", "lla-64", "source-array", "hash-256"}) {
    auto config = parse_strategy(name);
    ASSERT_TRUE(config) << name;
    EXPECT_EQ(strategy_name(*config), name);
  }
  EXPECT_EQ(strategy_name(*parse_strategy("default")), "flat");
  EXPECT_EQ(strategy_name(*parse_strategy("lla")), "lla-8");
  for (const char* name : {"", "lla-3", "lla-128", "lla-0", "lla-", "hash-100", "hash-0", "tree"}) {
    EXPECT_FALSE(parse_strategy(name)) << name;
  }
}

TEST(MakeEngine, RefusesValuesThatAreNotAllowed) {
  Config config;
  config.strategy = Strategy::lla;
  config.entries_per_array = 6;
  EXPECT_THROW(make_engine(config), std::invalid_argument);
  config.strategy = Strategy::hash_bins;
  config.bins = 3;
  EXPECT_THROW(make_engine(config), std::invalid_argument);
}

class EveryStrategy : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Engine> engine_ = make_engine(*parse_strategy(GetParam()));
};

TEST_P(EveryStrategy, MatchesByCommunicatorSourceAndTag) {
  engine_->post({1, 2, 3}, item(10));
  EXPECT_EQ(engine_->arrive({0, 2, 3}, item(20)).request, nullptr);
  EXPECT_EQ(engine_->arrive({1, 3, 3}, item(21)).request, nullptr);
  EXPECT_EQ(engine_->arrive({1, 2, 4}, item(22)).request, nullptr);
  EXPECT_EQ(engine_->arrive({1, 2, 3}, item(23)).request, item(10));
  EXPECT_EQ(engine_->posted_length(), 0u);
  EXPECT_EQ(engine_->unexpected_length(), 3u);
  EXPECT_EQ(engine_->post({1, kAnySource, kAnyTag}, item(11)).message, item(21));
  EXPECT_EQ(engine_->post({1, kAnySource, kAnyTag}, item(12)).message, item(22));
  EXPECT_EQ(engine_->post({1, kAnySource, kAnyTag}, item(13)).message, nullptr);
}

TEST_P(EveryStrategy, TakesTheOldestReceiveAmongAllWildcards) {
  for (std::uintptr_t filler = 0; filler < 100; ++filler)
    engine_->post({0, 9, 9}, item(filler + 1));
  engine_->post({0, kAnySource, 5}, item(201));
  engine_->post({0, 4, kAnyTag}, item(202));
  engine_->post({0, 4, 5}, item(203));
  engine_->post({0, kAnySource, kAnyTag}, item(204));
  for (std::uintptr_t expected : {201, 202, 203, 204}) {
    EXPECT_EQ(engine_->arrive({0, 4, 5}, item(300)).request, item(expected));
  }
  EXPECT_EQ(engine_->arrive({0, 4, 5}, item(300)).request, nullptr);
  EXPECT_EQ(engine_->posted_length(), 100u);
}

TEST_P(EveryStrategy, KeepsNegativeTagsAndLargeRanksApart) {
  engine_->post({7, 1000000, -5}, item(1));
  engine_->post({7, 1000000, 5}, item(2));
  engine_->post({0xffffffff, 0, 0x7fffffff}, item(3));
  EXPECT_EQ(engine_->arrive({0xffffffff, 0, 0x7fffffff}, item(9)).request, item(3));
  EXPECT_EQ(engine_->arrive({7, 1000000, 5}, item(9)).request, item(2));
  EXPECT_EQ(engine_->arrive({7, 1000000, -5}, item(9)).request, item(1));
}

TEST_P(EveryStrategy, ForgetsNothingWhenReceivesAreOnlyPostedAndCancelled) {
  engine_->post({0, 1, 1}, item(1));
  std::vector<Handle> handles;
  for (int round = 0; round < 1000; ++round) {
    for (std::uintptr_t i = 0; i < 70; ++i) {
      handles.push_back(engine_->post({0, 2, 2}, item(i + 10)).handle);
    }
    engine_->post({0, 3, round}, item(2));
    for (Handle handle : handles) engine_->cancel(handle);
    handles.clear();
    ASSERT_EQ(engine_->arrive({0, 3, round}, item(5)).request, item(2));
  }
  EXPECT_EQ(engine_->posted_length(), 1u);
  EXPECT_LT(engine_->memory_bytes(), 400000u);
}

TEST_P(EveryStrategy, SurvivesAFloodAndGoesOn) {
  constexpr std::uintptr_t flood = 300000;
  for (std::uintptr_t i = 1; i <= flood; ++i) {
    engine_->arrive({0, 1, static_cast<std::int32_t>(i)}, item(i));
  }
  EXPECT_EQ(engine_->unexpected_length(), flood);
  EXPECT_LT(engine_->memory_bytes(), flood * 144);
  for (std::uintptr_t i = 1; i <= flood; ++i) {
    ASSERT_EQ(engine_->post({0, kAnySource, kAnyTag}, item(1)).message, item(i));
  }
  engine_->post({0, 1, 1}, item(4));
  EXPECT_EQ(engine_->arrive({0, 1, 1}, item(5)).request, item(4));
}

INSTANTIATE_TEST_SUITE_P(All, EveryStrategy,
                         testing::Values("flat", "list", "lla-2", "lla-8", "lla-64", "source-array",
                                         "hash"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(Flat, GivesBackTheMemoryOfAFlood) {
  auto engine = make_engine({});
  for (std::uintptr_t i = 1; i <= 1000000; ++i) {
    engine->arrive({0, 1, static_cast<std::int32_t>(i)}, item(i));
  }
  EXPECT_LT(engine->memory_bytes(), 96u << 20);
  for (std::uintptr_t i = 1; i <= 1000000; ++i) {
    ASSERT_EQ(engine->post({0, 1, kAnyTag}, item(1)).message, item(i));
  }
  EXPECT_EQ(engine->memory_bytes(), 0u);
}

TEST(Flat, TakesReceivesWithWildcardsAfterAFloodOfThem) {
  auto engine = make_engine({});
  for (const std::uintptr_t flood : {300'000, 1'000, 300'000}) {
    for (std::uintptr_t i = 1; i <= flood; ++i)
      engine->post({0, kAnySource, static_cast<std::int32_t>(i)}, item(i));
    for (std::uintptr_t i = flood; i > 0; --i)
      ASSERT_EQ(engine->arrive({0, 1, static_cast<std::int32_t>(i)}, item(1)).request, item(i));
    EXPECT_EQ(engine->posted_length(), 0u);
  }
}

TEST(Flat, RenumbersWhenSequenceNumbersRunOut) {
  using Receives = flat::FlatQueue<flat::Side::receives>;
  using Messages = flat::FlatQueue<flat::Side::messages>;
  Memory memory(nullptr);
  Receives receives(memory, flat::Slot::kSequenceEnd - 1000 * flat::Slot::kSequenceStep);
  Messages messages(memory);
  receives.pair_with(messages);
  messages.pair_with(receives);
  auto append = [&](Envelope envelope, void* item) {
    receives.append(flat::Key::of(envelope), item);
  };
  auto take = [&](Envelope envelope) {
    return receives.take_or_queue(flat::Key::of(envelope), item(3)).request;
  };
  append({0, kAnySource, 7}, item(1));
  for (std::uintptr_t i = 0; i < 3000; ++i) {
    append({0, 1, static_cast<std::int32_t>(i % 100 + 100)}, item(i + 10));
    append({static_cast<std::uint32_t>(i % 3), 2, kAnyTag}, item(i + 10000));
  }
  append({0, 3, 7}, item(2));
  EXPECT_EQ(take({0, 3, 7}), item(1));
  EXPECT_EQ(take({0, 3, 7}), item(2));
  for (std::uintptr_t i = 0; i < 3000; ++i) {
    ASSERT_EQ(take({0, 1, static_cast<std::int32_t>(i % 100 + 100)}), item(i + 10));
    ASSERT_EQ(take({static_cast<std::uint32_t>(i % 3), 2, 0}), item(i + 10000));
  }
  EXPECT_EQ(receives.size(), 0u);
  EXPECT_EQ(messages.size(), 0u);
}

TEST(Flat, KeepsPartsListsWhenSequenceNumbersRunOut) {
  using Receives = flat::FlatQueue<flat::Side::receives>;
  using Messages = flat::FlatQueue<flat::Side::messages>;
  Memory memory(nullptr);
  Receives receives(memory);
  Messages messages(memory, flat::Slot::kSequenceEnd - 100 * flat::Slot::kSequenceStep);
  receives.pair_with(messages);
  messages.pair_with(receives);
  auto take = [&](Envelope want) {
    return messages.take_or_queue(flat::Key::of(want), item(1)).message;
  };
  for (std::uintptr_t i = 0; i < 40; ++i) messages.append(flat::Key::of({0, 1, 7}), item(i + 10));
  EXPECT_EQ(take({0, kAnySource, 7}), item(10));
  for (std::uintptr_t i = 40; i < 400; ++i) messages.append(flat::Key::of({0, 2, 7}), item(i + 10));
  for (std::uintptr_t i = 1; i < 400; i += 2) {
    ASSERT_EQ(take({0, kAnySource, 7}), item(i + 10));
    if (i == 399) break;
    ASSERT_EQ(take({0, i < 39 ? 1 : 2, 7}), item(i + 11));
  }
  EXPECT_EQ(messages.size(), 0u);
}

TEST(Flat, LeavesMessagesThatNobodySearchesOutOfPartsLists) {
  Memory memory(nullptr);
  flat::Slots slots(memory);
  flat::PartIndex parts(memory);
  constexpr auto by_tag = flat::PartIndex::by_tag;
  auto with_tag = [](std::int32_t tag) { return flat::Key::of({3, kAnySource, tag}); };
  std::deque<std::uint32_t> queued;
  std::uint32_t now = flat::Slot::kSequenceStep;
  auto arrive = [&](std::int32_t tag) {
    if (slots.used() == slots.capacity()) slots.grow();
    std::uint32_t slot = slots.allocate();
    auto key = flat::Key::of({3, static_cast<std::int32_t>(now % 1000), tag});
    slots[slot] = {item(1), key.place, key.context, now};
    now += flat::Slot::kSequenceStep;
    if (parts.any()) parts.append(slots, slot, key);
    queued.push_back(slot);
    return slot;
  };
  auto take = [&](std::uint32_t slot) {
    parts.remove(slots, slot);
    std::erase(queued, slot);
    slots.release(slot);
  };
  auto search = [&](std::int32_t wanted) {
    bool ready = parts.ready(by_tag, with_tag(wanted), now);
    if (!ready) {
      std::vector<std::uint32_t> order(queued.begin(), queued.end());
      parts.make(slots, by_tag, with_tag(wanted), order, now);
    }
    EXPECT_TRUE(parts.ready(by_tag, with_tag(wanted), now));
    return ready;
  };
  for (std::int32_t i = 0; i < 40; ++i) arrive(i);
  EXPECT_FALSE(search(7));
  int rounds = 0;
  for (; search(7) && rounds < 10000; ++rounds) {  // until the lists are made of what is searched
    take(parts.find(slots, by_tag, with_tag(7), now));
    EXPECT_NE(slots[arrive(7)].lists(), 0u);
  }
  EXPECT_GT(rounds, 100);
  EXPECT_LT(rounds, 10000);
  std::size_t listed = 0;
  for (std::uint32_t slot : queued) listed += slots[slot].lists() != 0;
  EXPECT_LT(listed, 8u);  // one, and some that share its bit
  EXPECT_NE(slots[parts.find(slots, by_tag, with_tag(7), now)].lists(), 0u);

  std::int32_t left_out = 0;  // a tag whose messages are not listed
  for (std::uint32_t slot : queued) {
    if (slots[slot].lists() == 0) left_out = static_cast<std::int32_t>(slots[slot].key().tag());
  }
  EXPECT_FALSE(search(left_out));  // all are listed again
  EXPECT_EQ(slots[parts.find(slots, by_tag, with_tag(left_out), now)].key().tag(),
            static_cast<std::uint32_t>(left_out));
  for (std::uint32_t slot : queued) EXPECT_NE(slots[slot].lists(), 0u);
  int longer = 0;
  for (; search(7) && longer < 100000; ++longer) {
    take(parts.find(slots, by_tag, with_tag(7), now));
    arrive(7);
  }
  EXPECT_GE(longer, 2 * rounds);
}

// What is searched for is rare among the messages, and what is found comes again: so the lists are
// made of few messages, most of them alone. Then many come with what is searched for.
TEST(Flat, FindsTheOldestInListsMadeForOneMessageEach) {
  Memory memory(nullptr);
  flat::Slots slots(memory);
  flat::PartIndex parts(memory);
  constexpr auto by_source = flat::PartIndex::by_source;
  constexpr std::int32_t searched = 24;  // so many that some share a list
  auto from = [](std::int32_t source) { return flat::Key::of({3, source, kAnyTag}); };
  std::deque<std::uint32_t> queued;
  std::uint32_t now = flat::Slot::kSequenceStep;
  auto arrive = [&](std::int32_t source) {
    if (slots.used() == slots.capacity()) {
      slots.grow();
      if (parts.any()) parts.extend(slots.capacity());
    }
    std::uint32_t slot = slots.allocate();
    auto key = flat::Key::of({3, source, static_cast<std::int32_t>(now)});
    slots[slot] = {item(1), key.place, key.context, now};
    now += flat::Slot::kSequenceStep;
    if (parts.any()) parts.append(slots, slot, key);
    queued.push_back(slot);
  };
  auto take = [&](std::uint32_t slot) {
    parts.remove(slots, slot);
    std::erase(queued, slot);
    slots.release(slot);
  };
  std::size_t made = 0, looked = 0;
  auto check = [&](std::int32_t source) {
    if (!parts.ready(by_source, from(source), now)) {
      parts.make(slots, by_source, from(source), {queued.begin(), queued.end()}, now);
      ++made;
    }
    std::uint32_t expected = flat::kNone;
    for (std::uint32_t slot : queued) {
      if (slots[slot].key().source() != static_cast<std::uint32_t>(source)) continue;
      expected = slot;
      break;
    }
    std::uint32_t look = parts.look(slots, by_source, from(source));
    if (look != flat::PartIndex::kUnsure) {
      EXPECT_EQ(look, expected);
      ++looked;
    }
    EXPECT_EQ(parts.find(slots, by_source, from(source), now), expected);
    return expected;
  };
  for (std::int32_t i = 0; i < 1000; ++i) arrive(i);
  std::mt19937 random(7);
  auto any = [&](std::int32_t below) {
    return static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(below));
  };
  for (int i = 0; i < 20000; ++i) {
    std::int32_t source = any(searched);
    take(check(source));
    arrive(source);
  }
  std::size_t listed = 0;
  for (std::uint32_t slot : queued) listed += slots[slot].lists() != 0;
  ASSERT_LT(listed, 40u);
  made = looked = 0;
  for (int i = 0; i < 3000 && !testing::Test::HasFailure(); ++i) {
    if (any(2) == 0 && queued.size() < 1060) {
      arrive(any(searched));
    } else if (any(3) != 0) {
      if (std::uint32_t slot = check(any(searched)); slot != flat::kNone) take(slot);
    } else {
      take(queued[static_cast<std::size_t>(any(static_cast<std::int32_t>(queued.size())))]);
      arrive(1000 + any(1000));
    }
  }
  EXPECT_EQ(made, 0u);
  EXPECT_GT(looked, 100u);
}

TEST(Flat, KeepsAShortQueuesOrderWhenNumbersRunOut) {
  flat::ShortQueue queue(0xffffffff - 20);
  auto any = [](const flat::ShortQueue::Entry&) { return std::uint64_t{0}; };
  auto append = [&](std::uint64_t place) {
    if (queue.numbers_used_up()) queue.renumber();
    return queue.append({place, 0}, ~std::uint64_t{0}, item(1));
  };
  std::uint32_t eldest = append(1);
  std::vector<std::uint32_t> order;  // of the others
  for (std::uint64_t i = 0; i < 100; ++i) {
    order.push_back(append(2 + i));
    ASSERT_EQ(queue.find({}, any), eldest);
    std::vector<std::uint32_t> all{eldest};
    all.insert(all.end(), order.begin(), order.end());
    std::vector<std::uint32_t> seen;
    queue.each_in_order([&](std::uint32_t each) { seen.push_back(each); });
    ASSERT_EQ(seen, all) << i;
    if (order.size() == flat::ShortQueue::kMost - 1) {
      queue.remove(order[i % order.size()]);
      order.erase(order.begin() + static_cast<std::ptrdiff_t>(i % order.size()));
    }
  }
}

TEST(Flat, FilterKnowsEachReceiveHoweverManyCameAndWent) {
  Memory memory(nullptr);
  flat::Slots slots(memory);
  flat::KeyIndex index(memory);
  flat::WildFilter filter(memory);
  slots.grow();
  std::deque<std::uint32_t> queued;
  auto message = [](std::uint32_t number) {
    auto i = static_cast<std::int32_t>(number);
    return flat::Key::of({number % 5, 3 * i, 1000000 + 7 * i});
  };
  auto wildcards = [](std::uint32_t number) { return number % 2 + 1; };
  std::uint32_t needless = 0;
  constexpr std::uint32_t receives = 20000;
  constexpr std::uint32_t at_once = 48;
  for (std::uint32_t i = 0; i < receives; ++i) {
    flat::Key want = flat::with_wildcards(message(i), wildcards(i));
    if (queued.size() == at_once) {
      flat::Key gone = slots[queued.front()].key();
      std::uint64_t hash = flat::hash_of(gone);
      index.remove(slots, queued.front(), index.find(slots, gone, hash), hash);
      slots.release(queued.front());
      queued.pop_front();
    }
    index.reserve(queued.size() + 1, slots);
    filter.reserve(1, queued.size(), index, slots);
    std::uint32_t slot = slots.allocate();
    slots[slot].place = want.place;
    slots[slot].context = want.context;
    index.append(slots, slot, want, flat::hash_of(want));
    filter.add(want);
    queued.push_back(slot);
    for (std::uint32_t back = 0; back < queued.size(); ++back) {
      ASSERT_NE(filter.may_accept(message(i - back)) & wildcards(i - back), 0u) << i << ' ' << back;
    }
    needless += filter.may_accept(message(i + receives)) != 0;  // a message that nobody wants
  }
  EXPECT_GT(needless, 0u);
  EXPECT_LT(needless, receives / 20);
}

TEST(Flat, FindsMessagesByPartInEachPhaseAgain) {
  // Deep, empty, short, empty, and deep again: what receives with wildcards are found by outlives
  // the empty queue, and a short queue is no part of it.
  auto engine = make_engine({});
  for (int phase = 0; phase < 4; ++phase) {
    for (std::uintptr_t length : {40, 2, 40, 8, 9, 300}) {
      for (std::uintptr_t i = 0; i < length; ++i) {
        engine->arrive({0, static_cast<std::int32_t>(i % 7), 3}, item(i + 1));
      }
      bool searching = phase != 2;  // a phase without wildcards gives the lists up
      for (std::uintptr_t i = 0; i < length; ++i) {
        Envelope want{0, searching ? kAnySource : static_cast<std::int32_t>(i % 7), 3};
        ASSERT_EQ(engine->post(want, item(999)).message, item(i + 1)) << phase << ' ' << length;
      }
      ASSERT_EQ(engine->unexpected_length(), 0u);
    }
  }
}

TEST(Flat, FindsNoMessageThatIsGoneByPart) {
  auto engine = make_engine({});
  auto arrive = [&](int count, std::int32_t tag) {
    for (int i = 0; i < count; ++i) engine->arrive({0, 1, tag}, item(5));
  };
  auto take = [&](int count, std::int32_t tag) {
    for (int i = 0; i < count; ++i) {
      ASSERT_NE(engine->post({0, kAnySource, tag}, item(6)).message, nullptr);
    }
  };
  arrive(1, 3);
  arrive(30, 9);
  arrive(1, 3);
  take(2, 3);
  take(30, 9);
  arrive(2, 3);  // a short queue, in slots that were neighbours of others
  take(2, 3);
  arrive(3, 9);
  EXPECT_FALSE(engine->probe({0, kAnySource, 3}).has_value());
  EXPECT_EQ(engine->post({0, kAnySource, 3}, item(7)).message, nullptr);
  EXPECT_EQ(engine->arrive({0, 2, 3}, item(8)).request, item(7));
}

TEST(Flat, KeepsTheOrderOfOldReceivesForever) {
  // Two receives stay while many come and go, in several communicators that share the slots.
  auto engine = make_engine({});
  engine->post({0, kAnySource, 7}, item(1));
  for (std::uintptr_t i = 0; i < 200; ++i) engine->post({0, 1, 100}, item(5));
  engine->post({0, 3, kAnyTag}, item(2));
  for (std::uintptr_t i = 0; i < 50000; ++i) {
    auto context = static_cast<std::uint32_t>(i % 3);
    engine->post({context, 2, static_cast<std::int32_t>(i % 50 + 1000)}, item(i + 10));
    if (i < 30) continue;
    std::uintptr_t before = i - 30;
    ASSERT_EQ(engine
                  ->arrive({static_cast<std::uint32_t>(before % 3), 2,
                            static_cast<std::int32_t>(before % 50 + 1000)},
                           item(9))
                  .request,
              item(before + 10));
  }
  EXPECT_EQ(engine->oldest_posted(0)->request, item(1));
  EXPECT_EQ(engine->arrive({0, 3, 7}, item(9)).request, item(1));
  EXPECT_EQ(engine->arrive({0, 3, 7}, item(9)).request, item(2));
}

TEST(Lla, SaysWhatItHasNoRoomFor) {
  auto engine = make_engine(*parse_strategy("lla-2"));
  EXPECT_THROW(engine->post({0, 1048575, 0}, item(1)), std::length_error);
  EXPECT_EQ(engine->posted_length(), 0u);
  engine->post({0, kAnySource, 0}, item(2));
  EXPECT_EQ(engine->arrive({0, 2000000, 0}, item(3)).request, item(2));
  for (std::uint32_t context = 0; context < 4095; ++context) {
    engine->post({context, 0, 0}, item(context + 1));
  }
  EXPECT_THROW(engine->post({4095, 0, 0}, item(1)), std::length_error);
  EXPECT_EQ(engine->arrive({17, 0, 0}, item(1)).request, item(18));
  EXPECT_EQ(engine->post({4095, 0, 0}, item(5000)).message, nullptr);
  EXPECT_EQ(engine->arrive({4095, 0, 0}, item(1)).request, item(5000));
}

}  // namespace
}  // namespace hob::match
