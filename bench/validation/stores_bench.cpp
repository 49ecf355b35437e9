// What it costs to find out whether a window's memory was stored to, by each way that this kernel
// has, and from which time between barriers on that stays below Hob's budget of 5%.
//   hob-bench-stores [--json FILE] [--quick]

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "result.hpp"
#include "validation/store_tracker.hpp"
#include "validation/tracking_budget.hpp"

namespace hob::bench {
namespace {

using validation::StoreTracker;
using validation::Tracking;

constexpr const char* usage =
    "hob-bench-stores [--json FILE] [--quick]\n"
    "  microseconds for each MiB of a window: to begin to watch it, to ask whether it was stored "
    "to;\n"
    "  nanoseconds of the first store to a page that is watched";

constexpr std::size_t kMib = std::size_t{1} << 20;
constexpr std::size_t kPage = 4096;
constexpr double kShare = validation::kTrackingBudget.share;

/// Small pages, all of them present.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes) {
    base_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) {
      std::fprintf(stderr, "hob-bench-stores: no %zu bytes of memory\n", bytes);
      std::exit(1);
    }
    ::madvise(base_, bytes, MADV_NOHUGEPAGE);
    std::memset(base_, 1, bytes);
  }
  ~Memory() { ::munmap(base_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* base() const { return base_; }
  std::size_t bytes() const { return bytes_; }

  /// All of it, as a fingerprint would have to. Nanoseconds.
  double read() const {
    const double start = wall_ns();
    std::uint64_t sum = 0;
    const auto* const words = static_cast<const std::uint64_t*>(base_);
    for (std::size_t i = 0; i < bytes_ / sizeof sum; ++i) sum += words[i];
    asm volatile("" : : "r"(sum));
    return wall_ns() - start;
  }

  /// To the first `pages` of it. Nanoseconds of one.
  double store_to(std::size_t pages) {
    const double start = wall_ns();
    for (std::size_t page = 0; page < pages; ++page)
      static_cast<volatile char*>(base_)[page * kPage] = 2;
    return (wall_ns() - start) / static_cast<double>(pages);
  }

 private:
  void* base_;
  std::size_t bytes_;
};

struct Costs {
  double track = 0, ask = 0, ask_written = 0, store = 0, plain_store = 0, read = 0;  ///< ns
};

/// Medians. `pages` are stored to between two questions. False if the kernel refuses.
bool measure(Memory& memory, Tracking way, std::size_t pages, int rounds, Costs& costs) {
  std::vector<double> track, ask, written, store, plain, read;
  StoreTracker tracker(memory.base(), memory.bytes(), way);
  for (int round = 0; round < rounds; ++round) {
    plain.push_back(memory.store_to(pages));
    double start = wall_ns();
    if (!tracker.track()) return false;
    track.push_back(wall_ns() - start);
    start = wall_ns();
    if (tracker.written()) return false;
    ask.push_back(wall_ns() - start);
    store.push_back(memory.store_to(pages));
    start = wall_ns();
    if (!tracker.written()) return false;
    written.push_back(wall_ns() - start);
    read.push_back(memory.read());
  }
  costs = {median(track), median(ask), median(written), median(store), median(plain), median(read)};
  return true;
}

int stores(const Options& options) {
  struct Way {
    const char* name;
    Tracking tracking;
  };
  constexpr Way ways[] = {{"write protection", Tracking::write_protection},
                          {"soft-dirty bits", Tracking::soft_dirty}};
  Result result("stores");
  const std::vector<std::size_t> sizes =
      options.quick ? std::vector<std::size_t>{1, 16} : std::vector<std::size_t>{1, 16, 256, 1024};
  for (const Way& way : ways) {
    if (!StoreTracker::available(way.tracking)) {
      result.note(std::string("This kernel has no ") + way.name + " for this process.");
      continue;
    }
    for (const std::size_t mib : sizes) {
      Memory memory(mib * kMib);
      const std::size_t pages = std::max<std::size_t>(memory.bytes() / kPage / 100, 1);
      Costs costs;
      if (!measure(memory, way.tracking, pages, options.quick ? 5 : 21, costs)) {
        result.note(std::string("The kernel refused ") + way.name + ".");
        break;
      }
      const auto each = static_cast<double>(mib);
      const double faults = std::max(costs.store - costs.plain_store, 0.0);
      const double stored = costs.ask_written + costs.track + faults * static_cast<double>(pages);
      result.add({{"way", way.name},
                  {"window MiB", static_cast<std::int64_t>(mib)},
                  {"begin us/MiB", costs.track / 1e3 / each},
                  {"ask us/MiB", costs.ask / 1e3 / each},
                  {"ask, stored to, us/MiB", costs.ask_written / 1e3 / each},
                  {"read all of it us/MiB", costs.read / 1e3 / each},
                  {"first store ns", costs.store},
                  {"other store ns", costs.plain_store},
                  {"pays from ms, nothing stored", costs.ask / kShare / 1e6},
                  {"pays from ms, 1% stored", stored / kShare / 1e6}});
    }
  }
  return finish(result, options);
}

}  // namespace
}  // namespace hob::bench

int main(int argc, char** argv) {
  return hob::bench::stores(hob::bench::read_options(argc, argv, {}, hob::bench::usage));
}
