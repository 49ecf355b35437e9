#include <gtest/gtest.h>

#include "report/report.hpp"

namespace hob::report {
namespace {

std::string summary_of(const Counters& counters) {
  RunFacts run;
  run.ranks = 2;
  return summary(run, counters, {}, {});
}

TEST(Summary, SaysThatThereWasNothingToDo) {
  EXPECT_NE(summary_of({}).find("nothing for Hob to do"), std::string::npos);
}

TEST(Summary, TellsOfGhostsAndOfMatching) {
  Counters counters;
  counters[Counter::ghost_redirected] = 1200;
  counters[Counter::ghost_direct] = 7;
  counters[Counter::receives] = 50;
  counters[Counter::receives_in_prq] = 40;
  counters[Counter::messages_dequeued] = 45;
  EXPECT_EQ(summary_of(counters),
            "hob: 1,200 one-sided operations done by ghosts, 7 directly in shared memory\n"
            "hob: 40 of 50 receives waited in Hob's queue, 45 messages matched there\n");
}

}  // namespace
}  // namespace hob::report
