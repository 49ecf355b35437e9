#include "match/takeover_policy.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace hob::match {

TakeoverPolicy::TakeoverPolicy(const Config& config, const MatchCosts& costs)
    : config_(config),
      costs_(&costs),
      since_(config.now ? config.now() : 0),
      threshold_(config.threshold) {}

double TakeoverPolicy::budget() const {
  return config_.share * static_cast<double>(config_.now() - since_) +
         config_.first_budget * costs_->dequeue - lost_;
}

bool TakeoverPolicy::begin_trial(std::uint64_t length) {
  const double available = budget();
  // So many receives say more than all trials that failed in shorter queues.
  const double caution = length >= config_.threshold ? 1 : caution_;
  if (available < config_.trial * caution * costs_->dequeue) {
    // Whoever has evidence asks at each receive, which costs. So it is to be found again.
    search_debt_ = 0;
    long_phase_ = false;
    if (length >= threshold_) threshold_ = 2 * length;
    return false;
  }
  allowance_ = available / 2;
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
  allowance_ = config_.trial * costs_->dequeue;  // and what was gained may be lost again
  caution_ = 1;
}

void TakeoverPolicy::reposted(std::uint64_t receives) {
  if (config_.fixed) return;
  lost_ += static_cast<double>(receives) * costs_->dequeue;
  failed();
}

void TakeoverPolicy::failed() {
  lost_ += std::max(0.0, -balance_);
  balance_ = 0;
  paying_ = long_phase_ = false;
  search_debt_ = 0;
  caution_ = std::min(2 * caution_, config_.most_caution);
}

double measure_list_step() {
  struct Node {
    Node* next;
    char rest[248];
  };
  constexpr std::size_t kNodes = 512, kStride = 211;  // coprime
  constexpr int kWalks = 8;
  constexpr double kLeast = 1, kMost = 20;  // whatever disturbs the measurement
  std::vector<Node> nodes(kNodes);
  for (std::size_t i = 0, at = 0; i < kNodes; ++i) {
    const std::size_t next = (at + kStride) % kNodes;
    nodes[at].next = &nodes[next];
    at = next;
  }
  double best = kMost;
  const Node* volatile start = nodes.data();
  for (int walk = 0; walk < kWalks; ++walk) {
    const auto before = std::chrono::steady_clock::now();
    const Node* node = start;
    for (std::size_t i = 0; i < kNodes; ++i) node = node->next;
    start = node;
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - before;
    best = std::min(best, took.count() / kNodes);
  }
  return std::max(best, kLeast);
}

}  // namespace hob::match
