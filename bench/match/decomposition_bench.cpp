// hob bench decomposition: the paper's Table 1. A process whose threads work on the cells of a box
// receives from the threads of its neighbours: how many threads take part, how long the queue of
// posted receives gets, and how deep a plain list is searched.

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "match/depth_meter.hpp"
#include "match/engine.hpp"
#include "result.hpp"

namespace hob::bench {
namespace {

constexpr const char* usage =
    "hob-bench-decomposition [--quick] [--json FILE] [--trials N] [--threads MAX]\n"
    "Table 1 of the paper: exact by rule, simulated, and with up to MAX real threads.\n";

using Cell = std::array<int, 3>;

/// A row of Table 1 with the paper's numbers.
struct Decomposition {
  const char* name;
  Cell box;
  int stencil;
  std::int64_t receivers, senders, length;
  double depth;
};

const Decomposition table[] = {
    {"32x32", {32, 32, 1}, 5, 124, 128, 128, 32.51},
    {"64x32", {64, 32, 1}, 5, 188, 192, 192, 48.22},
    {"32x32", {32, 32, 1}, 9, 124, 132, 380, 85.18},
    {"64x32", {64, 32, 1}, 9, 188, 196, 572, 127.24},
    {"8x8x4", {8, 8, 4}, 7, 184, 256, 256, 65.85},
    {"1x1x128", {1, 1, 128}, 7, 128, 514, 514, 132.27},
    {"1x1x256", {1, 1, 256}, 7, 256, 1026, 1026, 259.08},
    {"8x8x4", {8, 8, 4}, 27, 184, 344, 2072, 410.02},
    {"1x1x128", {1, 1, 128}, 27, 128, 1042, 3074, 596.85},
    {"1x1x256", {1, 1, 256}, 27, 256, 2066, 6146, 1294.49},
};

/// Offsets of a stencil's neighbours, in the order in which a thread goes through them.
std::vector<Cell> offsets(int stencil) {
  bool flat = stencil == 5 || stencil == 9;
  bool star = stencil == 5 || stencil == 7;
  std::vector<Cell> result;
  for (int z = flat ? 0 : -1; z <= (flat ? 0 : 1); ++z) {
    for (int y = -1; y <= 1; ++y) {
      for (int x = -1; x <= 1; ++x) {
        int distance = std::abs(x) + std::abs(y) + std::abs(z);
        if (distance == 0 || (star && distance != 1)) continue;
        result.push_back({x, y, z});
      }
    }
  }
  return result;
}

/// A receive and the message for it.
struct Pair {
  int receiver;
  int sender;
};

/// Who receives from whom: all pairs of a cell inside the box and one outside of it that are
/// neighbours. For each thread its pairs, in the order of the directions that it goes through: a
/// receiver from the first to the last, a sender to the receivers that see it in the first
/// direction, then the second, and so on, as a program does that posts and sends by direction.
struct Exchange {
  explicit Exchange(const Decomposition& decomposition) {
    std::map<Cell, int> receivers, senders;
    const auto& box = decomposition.box;
    for (const Cell& offset : offsets(decomposition.stencil)) {
      for (int z = 0; z < box[2]; ++z) {
        for (int y = 0; y < box[1]; ++y) {
          for (int x = 0; x < box[0]; ++x) {
            Cell from{x + offset[0], y + offset[1], z + offset[2]};
            bool inside = true;
            for (std::size_t d = 0; d < 3; ++d) inside &= from[d] >= 0 && from[d] < box[d];
            if (inside) continue;
            auto number = [](std::map<Cell, int>& of, const Cell& cell) {
              return of.emplace(cell, static_cast<int>(of.size())).first->second;
            };
            Pair pair{number(receivers, {x, y, z}), number(senders, from)};
            by_receiver.resize(receivers.size());
            by_sender.resize(senders.size());
            by_receiver[static_cast<std::size_t>(pair.receiver)].push_back(pair);
            by_sender[static_cast<std::size_t>(pair.sender)].push_back(pair);
            ++length;
          }
        }
      }
    }
  }

  std::vector<std::vector<Pair>> by_receiver;
  std::vector<std::vector<Pair>> by_sender;
  std::int64_t length = 0;
};

/// All threads at work at once: the next one to get the lock is any of those that are not done.
std::vector<Pair> interleaved(const std::vector<std::vector<Pair>>& threads,
                              std::mt19937_64& random) {
  std::vector<std::size_t> next(threads.size(), 0), waiting(threads.size());
  std::iota(waiting.begin(), waiting.end(), 0);
  std::vector<Pair> order;
  while (!waiting.empty()) {
    std::size_t pick = random() % waiting.size();
    std::size_t thread = waiting[pick];
    order.push_back(threads[thread][next[thread]]);
    if (++next[thread] == threads[thread].size()) {
      waiting[pick] = waiting.back();
      waiting.pop_back();
    }
  }
  return order;
}

/// A queue under observation: what the matching engine's user does, reduced to this study.
class Observed {
 public:
  void post(const Pair& pair) {
    auto* ticket = new match::DepthMeter::Ticket(meter_.append());
    engine_->post({0, pair.sender, pair.receiver}, ticket);
  }

  void arrive(const Pair& pair) {
    auto result = engine_->arrive({0, pair.sender, pair.receiver}, this);
    if (result.request == nullptr) std::abort();
    auto* ticket = static_cast<match::DepthMeter::Ticket*>(result.request);
    meter_.match(*ticket);
    delete ticket;
  }

  std::int64_t longest() const { return static_cast<std::int64_t>(meter_.stats().max_length); }
  double mean_depth() const {
    return static_cast<double>(meter_.stats().depth_sum) /
           static_cast<double>(meter_.stats().matched);
  }

 private:
  std::unique_ptr<match::Engine> engine_ = match::make_engine({});
  match::DepthMeter meter_;
};

double simulated(const Exchange& exchange, std::mt19937_64& random) {
  Observed queue;
  for (const Pair& pair : interleaved(exchange.by_receiver, random)) queue.post(pair);
  for (const Pair& pair : interleaved(exchange.by_sender, random)) queue.arrive(pair);
  return queue.mean_depth();
}

double shuffled(const Exchange& exchange, std::mt19937_64& random) {
  std::vector<Pair> pairs;
  for (const auto& thread : exchange.by_receiver) {
    pairs.insert(pairs.end(), thread.begin(), thread.end());
  }
  Observed queue;
  std::shuffle(pairs.begin(), pairs.end(), random);
  for (const Pair& pair : pairs) queue.post(pair);
  std::shuffle(pairs.begin(), pairs.end(), random);
  for (const Pair& pair : pairs) queue.arrive(pair);
  return queue.mean_depth();
}

/// One thread for each of `work`, all let go at once, which take turns at the queue.
template <class Do>
void with_threads(const std::vector<std::vector<Pair>>& work, Do&& act) {
  std::mutex lock;
  std::barrier start(static_cast<std::ptrdiff_t>(work.size()));
  std::vector<std::thread> threads;
  for (const auto& pairs : work) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      for (const Pair& pair : pairs) {
        {
          std::lock_guard hold(lock);
          act(pair);
        }
        std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

double threaded(const Exchange& exchange) {
  Observed queue;
  with_threads(exchange.by_receiver, [&](const Pair& pair) { queue.post(pair); });
  with_threads(exchange.by_sender, [&](const Pair& pair) { queue.arrive(pair); });
  return queue.mean_depth();
}

struct Spread {
  double mean, least, most;
};

template <class Trial>
Spread spread(std::size_t trials, Trial&& trial) {
  Spread result{0, 1e300, 0};
  for (std::size_t i = 0; i < trials; ++i) {
    double depth = trial();
    result.mean += depth / static_cast<double>(trials);
    result.least = std::min(result.least, depth);
    result.most = std::max(result.most, depth);
  }
  return result;
}

int run(int argc, char** argv) {
  Options options = read_options(argc, argv, {"trials", "threads"}, usage);
  auto trials = static_cast<std::size_t>(options.number("trials", options.quick ? 3 : 10));
  double most_threads = options.number("threads", options.quick ? 200 : 600);
  Result result("decomposition");
  std::mt19937_64 random(1);
  std::int64_t wrong = 0;
  std::int64_t outside = 0;
  for (const Decomposition& row : table) {
    Exchange exchange(row);
    auto receivers = static_cast<std::int64_t>(exchange.by_receiver.size());
    auto senders = static_cast<std::int64_t>(exchange.by_sender.size());
    wrong += receivers != row.receivers;
    wrong += senders != row.senders;
    wrong += exchange.length != row.length;
    Spread any = spread(trials, [&] { return shuffled(exchange, random); });
    Spread threads = spread(trials, [&] { return simulated(exchange, random); });
    double least = std::min(any.least, threads.least);
    double most = std::max(any.most, threads.most);
    outside += row.depth < least || row.depth > most;
    Row out{{"decomp", std::string(row.name)},
            {"stencil", std::to_string(row.stencil) + "pt"},
            {"t_r", receivers},
            {"t_s", senders},
            {"length", exchange.length},
            {"paper depth", row.depth},
            {"(L+3)/4", static_cast<double>(exchange.length + 3) / 4},
            {"any order", any.mean},
            {"least", any.least},
            {"most", any.most},
            {"by thread", threads.mean},
            {"least ", threads.least},
            {"most ", threads.most}};
    bool real = static_cast<double>(std::max(receivers, senders)) <= most_threads;
    Spread seen =
        real ? spread(std::min<std::size_t>(trials, 10), [&] { return threaded(exchange); })
             : Spread{0, 0, 0};
    out.emplace_back("real threads", real ? Value(seen.mean) : Value(std::string("-")));
    result.add(std::move(out));
  }
  result.limit("t_r, t_s and lengths that differ from the paper's, of 30",
               static_cast<double>(wrong), 0);
  result.limit("depths of the paper outside of what the two orders give, of 10",
               static_cast<double>(outside), 0);
  result.note(
      "any order: receives and messages in independent random orders. by thread: each thread goes\n"
      "through its neighbours in order, and any thread may be next. The paper's stencils with one\n"
      "neighbour a side match the first; with more, threads that walk their neighbours in the "
      "same\n"
      "order on both sides search less far, and the paper's depths lie between the two.");
  return finish(result, options);
}

}  // namespace
}  // namespace hob::bench

int main(int argc, char** argv) { return hob::bench::run(argc, argv); }
