#include "match/takeover_policy.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.hpp"

namespace hob::match {

TakeoverPolicy::TakeoverPolicy(const Config& config, const MatchCosts& costs)
    : config_(config),
      costs_(&costs),
      budget_({.share = config.share, .first = config.first_budget * costs.dequeue},
              config.now ? config.now() : 0),
      threshold_(config.threshold),
      caution_({.first = 1, .longest = config.most_caution}) {}

bool TakeoverPolicy::begin_trial(std::uint64_t length) {
  const double trial = config_.trial * costs_->dequeue;
  budget_.passed(config_.now());
  // Time in which nothing was lost is no reason to lose for long at once.
  budget_.limit(trial * config_.most_caution);
  // So many receives say more than all trials that failed in shorter queues.
  if (budget_.left() < (length >= config_.threshold ? trial : trial * caution_.now())) {
    // Whoever has evidence asks at each receive, which costs. So it is to be found again.
    search_debt_ = 0;
    long_phase_ = false;
    if (length >= threshold_) threshold_ = 2 * length;
    return false;
  }
  allowance_ = budget_.left() / 2;
  balance_ = 0;
  return true;
}

void TakeoverPolicy::ended() {
  if (config_.fixed) return;
  if (balance_ < 0) {
    failed();
    return;
  }
  paying_ = true;
  allowance_ = config_.trial * costs_->dequeue;  // and the gain may be lost again
  caution_.reset();
}

void TakeoverPolicy::reposted(std::uint64_t receives) {
  if (config_.fixed) return;
  budget_.spent(static_cast<double>(receives) * costs_->dequeue);
  failed();
}

void TakeoverPolicy::failed() {
  budget_.spent(std::max(0.0, -balance_));
  balance_ = 0;
  paying_ = long_phase_ = false;
  search_debt_ = 0;
  caution_.lengthen();
}

namespace {

/// Nanoseconds for each step through a list whose entries lie in this order.
double walk(const std::vector<std::uint32_t>& order, int walks) {
  struct Node {
    Node* next;
    char rest[248];
  };
  constexpr double kLeast = 1, kMost = 200;  // whatever disturbs the measurement
  std::vector<Node> nodes(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    nodes[order[i]].next = &nodes[order[(i + 1) % order.size()]];
  double best = kMost;
  const Node* volatile start = nodes.data();
  for (int round = 0; round < walks; ++round) {
    const auto before = std::chrono::steady_clock::now();
    const Node* node = start;
    for (std::size_t i = 0; i < order.size(); ++i) node = node->next;
    start = node;
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - before;
    best = std::min(best, took.count() / static_cast<double>(order.size()));
  }
  return std::max(best, kLeast);
}

}  // namespace

double measure_list_step() {
  constexpr std::uint32_t kNodes = 512, kStride = 211;  // coprime
  constexpr int kWalks = 8;
  constexpr double kMost = 20;
  std::vector<std::uint32_t> order(kNodes);
  for (std::uint32_t i = 0; i < kNodes; ++i) order[i] = i * kStride % kNodes;
  return std::min(walk(order, kWalks), kMost);
}

double measure_ordered_list_step(std::size_t entries) {
  constexpr int kWalks = 3;
  std::vector<std::uint32_t> order(entries);
  std::iota(order.begin(), order.end(), 0);
  return walk(order, kWalks);
}

double measure_scattered_list_step(std::size_t entries) {
  constexpr int kWalks = 3;
  std::vector<std::uint32_t> order(entries);
  std::iota(order.begin(), order.end(), 0);
  Random random(1);
  for (std::size_t i = entries; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return walk(order, kWalks);
}

}  // namespace hob::match
