// A proxy for the message pattern of the Fire Dynamics Simulator (FDS).
//
// FDS divides its domain into many meshes. In every time step each process posts the receives of
// all of its meshes' neighbours ahead, computes, and then all meshes send, in several exchanges a
// step. The receive queue gets as long as there are neighbouring pairs of meshes, and since meshes
// are not worked on in the order in which their receives were posted, messages match far from its
// head.
//
// Here each rank posts `depth` receives, with a tag for each pair of meshes, spread over all other
// ranks; the orders of posting and of sending can be chosen.

#include <mpi.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "../common/arguments.hpp"
#include "../common/program.hpp"
#include "../common/run_report.hpp"

namespace {

constexpr const char* usage =
    "usage: fds-proxy [options]\n"
    "  --depth N            receives that each rank posts ahead (default 4096)\n"
    "  --words N            length of a message in 8-byte words (default 32)\n"
    "  --steps N            time steps (default 5)\n"
    "  --exchanges N        exchanges in a step (default 3)\n"
    "  --receives KIND      persistent (as FDS) or nonblocking\n"
    "  --completion CALL    of the receives: waitall (default), waitany, waitsome, testany\n"
    "  --posting ORDER      of the receives: forward, backward, shuffled (default shuffled)\n"
    "  --sending ORDER      of the messages: the same choices (default shuffled)\n"
    "  --any-source N       per cent of the receives that name no source (default 0)\n"
    "  --sweep N            megabytes that each rank writes between posting and sending, as a\n"
    "                       computation would (default 0)\n"
    "  --no-barrier         do not wait until all receives are posted\n"
    "  --seed N             of the shuffled orders (default 1)\n"
    "  --json FILE          write seconds per phase and messages, per rank and in total\n";

enum class Order { forward, backward, shuffled };
enum class Completion { waitall, waitany, waitsome, testany };

struct Options {
  int depth = 4096, words = 32, steps = 5, exchanges = 3, any_source = 0, sweep = 0;
  bool persistent = true, barrier = true;
  Order posting = Order::shuffled, sending = Order::shuffled;
  Completion completion = Completion::waitall;
  std::uint64_t seed = 1;
  std::string json;
};

Options parse(int argc, char** argv) {
  constexpr const char* orders[] = {"forward", "backward", "shuffled"};
  constexpr const char* kinds[] = {"persistent", "nonblocking"};
  constexpr const char* completions[] = {"waitall", "waitany", "waitsome", "testany"};
  Options options;
  apps::Arguments arguments(argc, argv);
  while (arguments.next()) {
    const std::string& name = arguments.name();
    if (name == "--depth") {
      options.depth = arguments.number<int>(1);
    } else if (name == "--words") {
      options.words = arguments.number<int>(1);
    } else if (name == "--steps") {
      options.steps = arguments.number<int>(1);
    } else if (name == "--exchanges") {
      options.exchanges = arguments.number<int>(1);
    } else if (name == "--receives") {
      options.persistent = arguments.choice(kinds) == 0;
    } else if (name == "--completion") {
      options.completion = static_cast<Completion>(arguments.choice(completions));
    } else if (name == "--posting") {
      options.posting = static_cast<Order>(arguments.choice(orders));
    } else if (name == "--sending") {
      options.sending = static_cast<Order>(arguments.choice(orders));
    } else if (name == "--any-source") {
      options.any_source = std::min(arguments.number<int>(0), 100);
    } else if (name == "--sweep") {
      options.sweep = arguments.number<int>(0);
    } else if (name == "--no-barrier") {
      options.barrier = false;
    } else if (name == "--seed") {
      options.seed = static_cast<std::uint64_t>(arguments.number<std::int64_t>(0));
    } else if (name == "--json") {
      options.json = arguments.text();
    } else {
      throw std::invalid_argument("unknown option " + name);
    }
  }
  return options;
}

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::vector<int> ordered(int n, Order order, std::uint64_t seed) {
  std::vector<int> sequence(n);
  std::iota(sequence.begin(), sequence.end(), 0);
  if (order == Order::backward) std::reverse(sequence.begin(), sequence.end());
  if (order == Order::shuffled)
    for (int i = n - 1; i > 0; --i)
      std::swap(sequence[i], sequence[mix(seed + 0x9e3779b97f4a7c15u * i) % (i + 1)]);
  return sequence;
}

class Proxy {
 public:
  Proxy(const Options& options, int rank, int ranks)
      : options_(options),
        rank_(rank),
        ranks_(ranks),
        posting_(ordered(options.depth, options.posting, options.seed + 2 * rank)),
        sending_(ordered(options.depth, options.sending, options.seed + 2 * rank + 1)),
        in_(static_cast<std::size_t>(options.depth) * options.words),
        out_(in_.size()),
        receives_(options.depth, MPI_REQUEST_NULL),
        sends_(options.depth, MPI_REQUEST_NULL),
        complete_(options.depth),
        swept_(static_cast<std::size_t>(options.sweep) << 17) {
    int* limit = nullptr;
    int found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &found);
    if (found && options.depth - 1 > *limit)
      throw std::invalid_argument("--depth: this MPI has no tags above " + std::to_string(*limit));
    if (options.persistent)
      for (int i = 0; i < options.depth; ++i) {
        const int tag = posting_[i];
        MPI_Recv_init(message(in_, tag), options.words, MPI_UINT64_T, posted_source(tag), tag,
                      MPI_COMM_WORLD, &receives_[i]);
      }
  }
  ~Proxy() {
    for (MPI_Request& request : receives_)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  void exchange(int number) {
    for (int tag = 0; tag < options_.depth; ++tag)
      for (int i = 0; i < options_.words; ++i)
        message(out_, tag)[i] = content(rank_, tag, number, i);
    std::fill(in_.begin(), in_.end(), 0);
    MPI_Barrier(MPI_COMM_WORLD);

    const double started = MPI_Wtime();
    post();
    if (options_.barrier) MPI_Barrier(MPI_COMM_WORLD);
    const double posted = MPI_Wtime();
    for (std::uint64_t& word : swept_) word += number;
    const double computed = MPI_Wtime();
    for (int i = 0; i < options_.depth; ++i) {
      const int tag = sending_[i];
      MPI_Isend(message(out_, tag), options_.words, MPI_UINT64_T, target(tag), tag, MPI_COMM_WORLD,
                &sends_[i]);
    }
    complete_receives();
    MPI_Waitall(options_.depth, sends_.data(), MPI_STATUSES_IGNORE);
    const double done = MPI_Wtime();

    post_seconds_ += posted - started;
    exchange_seconds_ += done - computed;
    check(number);
  }

  void fill(apps::RunReport& report) const {
    using Total = apps::RunReport::Total;
    const double messages = 1.0 * options_.depth * options_.steps * options_.exchanges;
    report.set("post_seconds", post_seconds_, Total::max);
    report.set("exchange_seconds", exchange_seconds_, Total::max);
    report.set("messages", messages, Total::sum);
    report.set("microseconds_per_message", exchange_seconds_ * 1e6 / messages, Total::max);
    report.set("wrong_words", static_cast<double>(wrong_), Total::sum);
  }

 private:
  std::uint64_t* message(std::vector<std::uint64_t>& buffer, int tag) const {
    return buffer.data() + static_cast<std::size_t>(tag) * options_.words;
  }
  static std::uint64_t content(int source, int tag, int number, int i) {
    return mix((static_cast<std::uint64_t>(source) << 40) +
               (static_cast<std::uint64_t>(tag) << 16) + (static_cast<std::uint64_t>(number) << 8) +
               i);
  }
  // Who sends this rank the message with a tag, and whom this rank sends it to.
  int source(int tag) const { return ranks_ == 1 ? 0 : (rank_ + 1 + tag % (ranks_ - 1)) % ranks_; }
  int target(int tag) const {
    return ranks_ == 1 ? 0 : (rank_ + ranks_ - 1 - tag % (ranks_ - 1)) % ranks_;
  }
  int posted_source(int tag) const {
    return static_cast<int>(mix(options_.seed + tag) % 100) < options_.any_source ? MPI_ANY_SOURCE
                                                                                  : source(tag);
  }

  void post() {
    if (options_.persistent) {
      MPI_Startall(options_.depth, receives_.data());
      return;
    }
    for (int i = 0; i < options_.depth; ++i) {
      const int tag = posting_[i];
      MPI_Irecv(message(in_, tag), options_.words, MPI_UINT64_T, posted_source(tag), tag,
                MPI_COMM_WORLD, &receives_[i]);
    }
  }

  void complete_receives() {
    for (int left = options_.depth; left > 0;) left -= complete_some();
  }

  // How many receives one call completed.
  int complete_some() {
    const int all = options_.depth;
    int done = 1;
    switch (options_.completion) {
      case Completion::waitall:
        MPI_Waitall(all, receives_.data(), MPI_STATUSES_IGNORE);
        return all;
      case Completion::waitany:
        MPI_Waitany(all, receives_.data(), complete_.data(), MPI_STATUS_IGNORE);
        break;
      case Completion::waitsome:
        MPI_Waitsome(all, receives_.data(), &done, complete_.data(), MPI_STATUSES_IGNORE);
        break;
      case Completion::testany:
        MPI_Testany(all, receives_.data(), complete_.data(), &done, MPI_STATUS_IGNORE);
        break;
    }
    return done;
  }

  void check(int number) {
    for (int tag = 0; tag < options_.depth; ++tag)
      for (int i = 0; i < options_.words; ++i)
        wrong_ += message(in_, tag)[i] != content(source(tag), tag, number, i);
  }

  const Options& options_;
  const int rank_, ranks_;
  const std::vector<int> posting_, sending_;
  std::vector<std::uint64_t> in_, out_;
  std::vector<MPI_Request> receives_, sends_;
  std::vector<int> complete_;
  std::vector<std::uint64_t> swept_;
  double post_seconds_ = 0, exchange_seconds_ = 0;
  std::int64_t wrong_ = 0;
};

// 0 if every message was right.
int run(const Options& options, int rank, int ranks) {
  Proxy proxy(options, rank, ranks);
  for (int i = 0; i < options.steps * options.exchanges; ++i) proxy.exchange(i);

  apps::RunReport report("fds-proxy");
  report.describe("depth", options.depth);
  report.describe("words", options.words);
  proxy.fill(report);
  report.gather(MPI_COMM_WORLD);
  int status = 0;
  if (rank == 0) {
    std::printf(
        "fds-proxy: %d ranks, %d receives posted ahead, %d-byte messages\n"
        "fds-proxy: exchanges %.3f s, %.3f us per message; posting %.3f s; %.0f wrong words\n",
        ranks, options.depth, options.words * 8, report.total("exchange_seconds"),
        report.total("microseconds_per_message"), report.total("post_seconds"),
        report.total("wrong_words"));
    if (!options.json.empty()) report.write(options.json);
    status = report.total("wrong_words") > 0;
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  return apps::program(argc, argv, "fds-proxy", usage,
                       [&](int rank, int ranks) { return run(parse(argc, argv), rank, ranks); });
}
