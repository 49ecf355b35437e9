#include "mpi/p2p/takeover.hpp"

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"

namespace hob::mpi::p2p {

match::Sampler::Config sampler_config() {
  match::Sampler::Config config;
  config.longest_pause = ticks_in(tuning::matching::kLongestPauseNs);
  config.now = ticks;
  return config;
}

match::TakeoverPolicy::Config policy_config(std::uint64_t user_threshold, bool over_libfabric) {
  match::TakeoverPolicy::Config config;
  config.now = ticks;
  if (over_libfabric)
    config.threshold = config.long_phase = config.least = tuning::matching::kDeepOverLibfabric;
  if (user_threshold != 0) {
    config.threshold = user_threshold;
    config.fixed = true;
  }
  return config;
}

}  // namespace hob::mpi::p2p
