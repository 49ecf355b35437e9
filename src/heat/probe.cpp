#include "heat/probe.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "base/clock.hpp"
#include "heat/heater.hpp"
#include "pay/price.hpp"

namespace hob::heat {

namespace {

constexpr std::size_t kLine = 64;

/// Of this thread: what other programs do on its processor does not count.
double now_ns() { return static_cast<double>(thread_nanoseconds()); }

/// A list whose nodes are lines of one block, linked in random order.
class ScatteredList {
 public:
  explicit ScatteredList(std::size_t bytes) : nodes_(bytes / kLine) {
    std::vector<std::size_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
    for (std::size_t i = 0; i < order.size(); ++i) {
      nodes_[order[i]].next = &nodes_[order[(i + 1) % order.size()]];
    }
  }

  /// Follows all links once.
  double walk_ns() const {
    double begin = now_ns();
    const Node* node = nodes_.data();
    for (std::size_t i = 0; i < nodes_.size(); ++i) node = node->next;
    asm volatile("" : : "r"(node));
    return now_ns() - begin;
  }

  const void* address() const { return nodes_.data(); }
  std::size_t bytes() const { return nodes_.size() * kLine; }

 private:
  struct alignas(kLine) Node {
    const Node* next;
  };
  std::vector<Node> nodes_;
};

double sweep_ns(std::vector<std::uint64_t>& memory) {
  double begin = now_ns();
  volatile std::uint64_t* words = memory.data();
  for (std::size_t i = 0; i < memory.size(); i += kLine / sizeof(std::uint64_t)) {
    words[i] = words[i] + 1;
  }
  return now_ns() - begin;
}

/// The measurements, in words.
std::string found_by(const Verdict& verdict) {
  char buffer[200];
  std::snprintf(
      buffer, sizeof buffer,
      "a search of a cold list takes %.1f us without and %.1f us with it, computing takes "
      "%.2f x as long",
      verdict.cold_ns / 1e3, verdict.heated_ns / 1e3, verdict.interference);
  return buffer;
}

}  // namespace

Verdict probe(const HeaterPlacement& placement, const ProbeConfig& config) {
  Verdict verdict;
  verdict.placement = placement;
  if (verdict.placement.cpu < 0) {
    verdict.reason = "no heater: " + verdict.placement.reason;
    return verdict;
  }
  std::size_t sweep_bytes = config.sweep_bytes;
  if (sweep_bytes == 0) {
    sweep_bytes = std::clamp<std::size_t>(2 * verdict.placement.cache_bytes, std::size_t{16} << 20,
                                          std::size_t{256} << 20);
  }
  ScatteredList list(config.list_bytes);
  std::vector<std::uint64_t> memory(sweep_bytes / sizeof(std::uint64_t), 1);
  Heater heater({config.period_ns, verdict.placement.cpu, false});
  heater.add(list.address(), list.bytes());
  heater.pause();
  if (!heater.start()) {
    verdict.reason = "no heater: " + heater.error();
    return verdict;
  }
  sweep_ns(memory);
  pay::Recent<15> cold, heated, sweep_alone, sweep_beside;
  for (unsigned round = 0; round < config.rounds; ++round) {
    heater.pause();
    sweep_alone.add(sweep_ns(memory));
    cold.add(list.walk_ns());
    heater.resume();
    sweep_beside.add(sweep_ns(memory));
    heated.add(list.walk_ns());
  }
  verdict.cold_ns = cold.median();
  verdict.heated_ns = heated.median();
  verdict.interference = sweep_beside.median() / sweep_alone.median();
  std::string found = found_by(verdict);
  if (verdict.cold_ns < config.least_gain * verdict.heated_ns) {
    verdict.reason = "heater off, it gains too little: " + found;
  } else if (verdict.interference > config.most_interference) {
    verdict.reason = "heater off, it slows down computing: " + found;
  } else {
    verdict.on = true;
    verdict.reason = "heater on processor " + std::to_string(verdict.placement.cpu) +
                     ", which shares the L" + std::to_string(verdict.placement.cache_level) +
                     " cache: " + found;
  }
  return verdict;
}

}  // namespace hob::heat
