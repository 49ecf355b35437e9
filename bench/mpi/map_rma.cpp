// One cell of the map of one-sided operations: rank 0 works on memory of rank `target`, and prints
// what an operation takes (map_clock.hpp).
//
//   op          get | put | accumulate (sum of 64-bit integers) | fetch_and_op (8 bytes)
//   completion  flush      each operation and a flush
//               burst      64 operations and a flush
//               request    MPI_Rget, MPI_Rput, MPI_Raccumulate and MPI_Wait
//               fence      16 operations between two fences
//               pscw       16 operations between start and complete, post and wait
//               lock       lock, one operation, unlock
//   order       order | random: of the places within a pass over them
//   reuse       never      each place once: the window has a place for each operation, up to
//   window_mib; after a
//                          pass over all of them, MPI_Win_sync ends what could be known of them
//               sometimes  256 places, each twice before an MPI_Win_sync
//               always     64 places, over and over
//
// Arguments: these, size=8 count=10000 target=1 threads=single|multiple window_mib=256
#include <numeric>
#include <random>

#include "map_clock.hpp"

namespace {

constexpr long burst = 64;
constexpr long epoch = 16;  // operations between fences
constexpr long always_places = 64;
constexpr long sometimes_places = 256;

struct Cell {
  std::string op, completion, order, reuse;
  std::size_t size;
  long count;
  int target;
  long window_mib;
};

// The places that are worked on, one after the other.
class Places {
 public:
  explicit Places(const Cell& cell)
      : size_(cell.size),
        synchronised_(cell.completion == "flush" || cell.completion == "burst" ||
                      cell.completion == "request") {
    long places = always_places;
    passes_ = 0;  // without an end
    if (cell.reuse == "never") {
      const long room = (cell.window_mib << 20) / static_cast<long>(cell.size);
      places = std::max(1L, std::min(cell.count, room));
      passes_ = 1;
    } else if (cell.reuse == "sometimes") {
      places = sometimes_places;
      passes_ = 2;
    } else if (cell.reuse != "always") {
      map::unknown("reuse", cell.reuse);
    }
    order_.resize(static_cast<std::size_t>(places));
    std::iota(order_.begin(), order_.end(), 0U);
    if (cell.order == "random") {
      std::shuffle(order_.begin(), order_.end(), std::mt19937_64(7));
    } else if (cell.order != "order") {
      map::unknown("order", cell.order);
    }
  }

  std::size_t bytes() const { return order_.size() * size_; }

  // Operations from one MPI_Win_sync to the next, where passes differ.
  long cycle() const { return passes_ > 1 ? passes_ * static_cast<long>(order_.size()) : 1; }

  // Displacement of the next operation. An MPI_Win_sync begins the passes anew where all of them
  // are in one epoch; where epochs are short, each ends what was known.
  MPI_Aint next(MPI_Win win) {
    if (at_ == order_.size()) {
      at_ = 0;
      if (++pass_ == passes_) {
        pass_ = 0;
        if (synchronised_) MPI_Win_sync(win);
      }
    }
    return static_cast<MPI_Aint>(order_[at_++] * size_);
  }

 private:
  std::size_t size_;
  bool synchronised_;
  std::vector<std::uint32_t> order_;
  std::size_t at_ = 0;
  long pass_ = 0;
  long passes_ = 0;
};

class Origin {
 public:
  Origin(const Cell& cell, Places& places, MPI_Win win)
      : cell_(cell),
        places_(places),
        win_(win),
        bytes_(static_cast<int>(cell.size)),
        data_(cell.size * static_cast<std::size_t>(burst) + 8) {
    std::memset(data_.data(), 0, cell.size * static_cast<std::size_t>(burst) + 8);
  }

  void issue(long slot) {
    unsigned char* const data = data_.data() + static_cast<std::size_t>(slot) * cell_.size;
    const MPI_Aint place = places_.next(win_);
    const int target = cell_.target;
    if (cell_.op == "get") {
      MPI_Get(data, bytes_, MPI_BYTE, target, place, bytes_, MPI_BYTE, win_);
    } else if (cell_.op == "put") {
      MPI_Put(data, bytes_, MPI_BYTE, target, place, bytes_, MPI_BYTE, win_);
    } else if (cell_.op == "accumulate") {
      MPI_Accumulate(data, bytes_ / 8, MPI_INT64_T, target, place, bytes_ / 8, MPI_INT64_T, MPI_SUM,
                     win_);
    } else {
      MPI_Fetch_and_op(data + cell_.size * (burst - 1), data, MPI_INT64_T, target, place, MPI_SUM,
                       win_);
    }
  }

  void issue_with_request() {
    unsigned char* const data = data_.data();
    const MPI_Aint place = places_.next(win_);
    const int target = cell_.target;
    MPI_Request request = MPI_REQUEST_NULL;
    if (cell_.op == "get") {
      MPI_Rget(data, bytes_, MPI_BYTE, target, place, bytes_, MPI_BYTE, win_, &request);
    } else if (cell_.op == "put") {
      MPI_Rput(data, bytes_, MPI_BYTE, target, place, bytes_, MPI_BYTE, win_, &request);
    } else {
      MPI_Raccumulate(data, bytes_ / 8, MPI_INT64_T, target, place, bytes_ / 8, MPI_INT64_T,
                      MPI_SUM, win_, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

 private:
  const Cell& cell_;
  Places& places_;
  MPI_Win win_;
  int bytes_;
  rma::Buffer data_;
};

// The target takes no part but that it is inside MPI.
void passive(const Cell& cell, Origin& origin, MPI_Win win, long cycle) {
  rma::with_attentive_targets([&] {
    if (cell.completion == "lock") {
      map::measure(cell.count, 1, [&] {
        MPI_Win_lock(MPI_LOCK_SHARED, cell.target, 0, win);
        origin.issue(0);
        MPI_Win_unlock(cell.target, win);
      });
      return;
    }
    MPI_Win_lock_all(0, win);
    if (cell.completion == "request") {
      map::measure(
          cell.count, 1, [&] { origin.issue_with_request(); }, cycle);
      MPI_Win_flush_all(win);
    } else {
      const long group = cell.completion == "flush" ? 1 : burst;
      const auto flushed = [&] {
        for (long slot = 0; slot < group; ++slot) {
          origin.issue(slot);
        }
        MPI_Win_flush(cell.target, win);
      };
      map::measure(cell.count, group, flushed, cycle);
    }
    MPI_Win_unlock_all(win);
  });
}

// Both ranks pass the same epochs; the operations are rank 0's.
void active(const Cell& cell, Origin& origin, MPI_Win win, int rank) {
  const auto issue = [&] {
    for (long slot = 0; rank == 0 && slot < epoch; ++slot) {
      origin.issue(slot);
    }
  };
  if (cell.completion == "fence") {
    MPI_Win_fence(0, win);
    map::measure_both(rank, cell.count, epoch, [&] {
      issue();
      MPI_Win_fence(0, win);
    });
    return;
  }
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group other = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  const int other_rank = cell.target == 0 ? 0 : 1 - rank;
  MPI_Group_incl(all, 1, &other_rank, &other);
  map::measure_both(rank, cell.count, epoch, [&] {
    const bool exposes = rank == cell.target;
    if (exposes) {
      MPI_Win_post(other, 0, win);
    }
    if (rank == 0) {
      MPI_Win_start(other, 0, win);
      issue();
      MPI_Win_complete(win);
    }
    if (exposes) {
      MPI_Win_wait(win);
    }
  });
  MPI_Group_free(&other);
  MPI_Group_free(&all);
}

}  // namespace

int main(int argc, char** argv) {
  const rma::Args args(argc, argv);
  map::start(argc, argv, args);
  const Cell cell{args.text("op", "get"),
                  args.text("completion", "flush"),
                  args.text("order", "order"),
                  args.text("reuse", "never"),
                  static_cast<std::size_t>(args.number("size", 8)),
                  args.number("count", 10000),
                  static_cast<int>(args.number("target", 1)),
                  args.number("window_mib", 256)};
  static const char* const ops[] = {"get", "put", "accumulate", "fetch_and_op"};
  static const char* const completions[] = {"flush", "burst", "request", "fence", "pscw", "lock"};
  const auto is_in = [](const std::string& word, const auto& words) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
  };
  if (!is_in(cell.op, ops)) map::unknown("op", cell.op);
  if (!is_in(cell.completion, completions)) map::unknown("completion", cell.completion);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  {
    Places places(cell);
    const rma::Window win(places.bytes());
    Origin origin(cell, places, win);
    if (cell.completion == "fence" || cell.completion == "pscw") {
      active(cell, origin, win, rank);
    } else {
      passive(cell, origin, win, places.cycle());
    }
  }
  MPI_Finalize();
}
