// How the programs of the map take time: the first thousand operations as one, the rest in blocks,
// of which the medians are printed: what the machine does beside the job in a few blocks is not the
// operation's price.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rma_common.hpp"

namespace map {

constexpr long first_operations = 1000;
constexpr long blocks = 256;

// How many operations are timed at once, in whole groups.
struct Plan {
  long first = 0;  // the first thousand
  long block = 0;  // the others, this many at a time
  long end = 0;    // all
};

inline Plan plan(long count, long group) {
  const auto whole = [&](long operations) { return (operations + group - 1) / group * group; };
  Plan out;
  out.first = whole(std::min(first_operations, count));
  out.block = whole(std::max(1L, (count - out.first) / blocks));
  out.end = out.first;
  while (out.end < count) {
    out.end += out.block;
  }
  return out;
}

// Runs about `count` operations, `group` at a time, and prints {"first_ns", "early_ns", "late_ns"}:
// the mean time of the first thousand, and the median blocks of both halves of the rest. Where
// operations differ by turns, each `cycle` of them, whole groups, is alike: blocks are whole
// cycles, else the median would be that of one kind.
template <class Group>
void measure(long count, long group, Group run, long cycle = 1) {
  const Plan all = plan(count, std::max(group, cycle));
  const auto segment = [&](long operations) {
    const double start = rma::now_ns();
    for (long at = 0; at < operations; at += group) {
      run();
    }
    return (rma::now_ns() - start) / static_cast<double>(operations);
  };
  const double first = segment(all.first);
  std::vector<double> times;
  for (long at = all.first; at < all.end; at += all.block) {
    times.push_back(segment(all.block));
  }
  if (times.empty()) {
    times.push_back(first);
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::vector<double> early(times.begin(), middle);
  std::vector<double> late(middle, times.end());
  const double late_ns = rma::quantile(late, 0.5);
  rma::Object row;
  rma::print(row.field("first_ns", first)
                 .field("early_ns", early.empty() ? late_ns : rma::quantile(early, 0.5))
                 .field("late_ns", late_ns));
}

// The same where both ranks run every group: rank 0 takes the time.
template <class Group>
void measure_both(int rank, long count, long group, Group run) {
  if (rank == 0) {
    measure(count, group, run);
    return;
  }
  for (long at = 0, end = plan(count, group).end; at < end; at += group) {
    run();
  }
}

// Starts MPI with the thread level of threads=single|multiple.
inline void start(int& argc, char**& argv, const rma::Args& args) {
  const bool multiple = args.text("threads", "single") == "multiple";
  int provided = 0;
  MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  if (multiple && provided != MPI_THREAD_MULTIPLE) {
    std::fprintf(stderr, "%s: this MPI library gives thread level %d only\n", argv[0], provided);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

// Ends the job: `key` has no such value.
[[noreturn]] inline void unknown(const char* key, const std::string& value) {
  std::fprintf(stderr, "the map knows no %s=%s\n", key, value.c_str());
  MPI_Abort(MPI_COMM_WORLD, 2);
  std::abort();
}

}  // namespace map
