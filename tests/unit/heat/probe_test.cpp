// What the start-up probe concludes. What it measures is the machine's; the limits are given here
// so that the outcome does not depend on it.
#include "heat/probe.hpp"

#include <gtest/gtest.h>

#include "os/affinity.hpp"

namespace hob::heat {
namespace {

HeaterPlacement somewhere() {
  HeaterPlacement placement;
  placement.cpu = os::own_cpus().back();
  placement.cache_level = 3;
  placement.cache_bytes = 1 << 20;
  return placement;
}

ProbeConfig quick() {
  ProbeConfig config;
  config.list_bytes = 4 << 10;
  config.sweep_bytes = 64 << 10;
  config.rounds = 1;
  return config;
}

TEST(Probe, WithoutAPlaceThereIsNothingToMeasure) {
  HeaterPlacement nowhere;
  nowhere.reason = "every core has a rank";
  const Verdict verdict = probe(nowhere);
  EXPECT_FALSE(verdict.on);
  EXPECT_EQ(verdict.reason, "no heater: every core has a rank");
  EXPECT_EQ(verdict.cold_ns, 0);
}

TEST(Probe, AHeaterThatGainsAndDisturbsNobodyIsOn) {
  ProbeConfig config = quick();
  config.least_gain = 0;
  config.most_interference = 1e12;
  const Verdict verdict = probe(somewhere(), config);
  EXPECT_TRUE(verdict.on);
  EXPECT_NE(verdict.reason.find("which shares the L3 cache"), std::string::npos) << verdict.reason;
  EXPECT_GT(verdict.cold_ns, 0);
  EXPECT_GT(verdict.heated_ns, 0);
}

TEST(Probe, AHeaterThatGainsTooLittleIsOff) {
  ProbeConfig config = quick();
  config.least_gain = 1e12;
  const Verdict verdict = probe(somewhere(), config);
  EXPECT_FALSE(verdict.on);
  EXPECT_NE(verdict.reason.find("gains too little"), std::string::npos) << verdict.reason;
}

TEST(Probe, AHeaterThatSlowsTheProgramDownIsOff) {
  ProbeConfig config = quick();
  config.least_gain = 0;
  config.most_interference = 0;
  const Verdict verdict = probe(somewhere(), config);
  EXPECT_FALSE(verdict.on);
  EXPECT_NE(verdict.reason.find("slows down computing"), std::string::npos) << verdict.reason;
}

}  // namespace
}  // namespace hob::heat
