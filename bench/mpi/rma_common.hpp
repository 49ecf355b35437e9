// What the RMA benchmark programs share: arguments of the form key=value, a clock, order
// statistics, a window with a known content, and a JSON writer for the result line. The programs
// are plain MPI: rank 0 measures, every other rank sits in a blocking receive, so that it makes
// progress for gets over TCP as a rank inside MPI does.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace rma {

// The arguments after the program's name, each key=value. Unknown keys are the program's to
// report; a missing '=' ends the program.
class Args {
 public:
  Args(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      const auto equals = word.find('=');
      if (equals == std::string::npos) {
        std::fprintf(stderr, "%s: '%s' is not key=value\n", argv[0], argv[i]);
        std::exit(2);
      }
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }

  std::string text(const std::string& key, const std::string& fallback) const {
    const auto found = values_.find(key);
    return found == values_.end() ? fallback : found->second;
  }

  long number(const std::string& key, long fallback) const {
    const auto found = values_.find(key);
    return found == values_.end() ? fallback : std::strtol(found->second.c_str(), nullptr, 0);
  }

  // A comma-separated list of numbers.
  std::vector<long> numbers(const std::string& key, const std::string& fallback) const {
    std::vector<long> out;
    const std::string list = text(key, fallback);
    for (std::size_t at = 0; at < list.size();) {
      const auto comma = std::min(list.find(',', at), list.size());
      out.push_back(std::strtol(list.substr(at, comma - at).c_str(), nullptr, 0));
      at = comma + 1;
    }
    return out;
  }

 private:
  std::map<std::string, std::string> values_;
};

// Nanoseconds since an arbitrary moment.
inline double now_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The q-quantile (0..1) of values, which are reordered; 0 if there are none.
inline double quantile(std::vector<double>& values, double q) {
  if (values.empty()) {
    return 0;
  }
  const auto at = std::min(values.size() - 1, static_cast<std::size_t>(q * values.size()));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

// The byte that rank `owner` keeps at `offset` of its window.
inline unsigned char pattern(int owner, std::size_t offset) {
  return static_cast<unsigned char>(((offset * 0x9E3779B97F4A7C15ull) >> 56) + owner * 37u);
}

// Ends the job if a byte of data, fetched from `offset` of `owner`, is not what it must be.
inline void check(const unsigned char* data, std::size_t bytes, int owner, std::size_t offset) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (data[i] != pattern(owner, offset + i)) {
      std::fprintf(stderr, "wrong byte from rank %d at offset %zu: got %u, expected %u\n", owner,
                   offset + i, data[i], pattern(owner, offset + i));
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
}

// Memory at three quarters of a page. Where malloc puts a buffer depends on whatever else was
// allocated, and a copy takes up to twice as long where source and destination agree in the last 12
// bits of their addresses: loads then seem to depend on the stores before them.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : pages_(bytes / sizeof(Page) + 2) {}
  unsigned char* data() { return pages_.front().bytes + 3 * sizeof(Page) / 4; }

 private:
  struct alignas(4096) Page {
    unsigned char bytes[4096];
  };
  std::vector<Page> pages_;
};

// A window of `bytes` on every rank (at least 1), filled with the pattern. Collective.
class Window {
 public:
  explicit Window(std::size_t bytes, bool allocate = true, MPI_Comm comm = MPI_COMM_WORLD) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    bytes = std::max<std::size_t>(bytes, 1);
    if (allocate) {
      MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, comm, &base_, &win_);
    } else {
      own_.resize(bytes);
      base_ = own_.data();
      MPI_Win_create(base_, static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, comm, &win_);
    }
    for (std::size_t i = 0; i < bytes; ++i) {
      base_[i] = pattern(rank, i);
    }
    MPI_Barrier(comm);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() { MPI_Win_free(&win_); }

  operator MPI_Win() const { return win_; }  // used like the handle itself
  unsigned char* base() const { return base_; }

 private:
  unsigned char* base_ = nullptr;
  std::vector<unsigned char> own_;
  MPI_Win win_ = MPI_WIN_NULL;
};

// One JSON object, written field by field.
class Object {
 public:
  Object& field(const std::string& name, double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%.6g", value);
    return raw(name, text);
  }
  Object& field(const std::string& name, const std::string& value) {
    return raw(name, "\"" + value + "\"");
  }
  Object& field(const std::string& name, const std::vector<double>& values) {
    std::string list;
    char text[64];
    for (const double value : values) {
      std::snprintf(text, sizeof text, "%.6g", value);
      list += (list.empty() ? "" : ",") + std::string(text);
    }
    return raw(name, "[" + list + "]");
  }
  std::string text() const { return "{" + body_ + "}"; }

 private:
  Object& raw(const std::string& name, const std::string& value) {
    body_ += (body_.empty() ? "\"" : ",\"") + name + "\":" + value;
    return *this;
  }
  std::string body_;
};

// Decides, at rank 0, how often a measurement is repeated. With gate=0, `rounds` times. With gate=1
// it prints the process ids of all ranks and then waits, before each batch, for a line on standard
// input; the end of input ends it. So a driver can stop and continue several jobs in turn, and give
// each the machine for one batch at a time.
class Gate {
 public:
  Gate(const Args& args, long rounds) : gated_(args.number("gate", 0) != 0), rounds_(rounds) {}

  // Collective.
  void open(MPI_Comm comm = MPI_COMM_WORLD) const {
    if (!gated_) {
      return;
    }
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const int own = static_cast<int>(getpid());
    std::vector<int> pids(static_cast<std::size_t>(ranks));
    MPI_Gather(&own, 1, MPI_INT, pids.data(), 1, MPI_INT, 0, comm);
    if (rank == 0) {
      std::string list;
      for (const int pid : pids) {
        list += (list.empty() ? "" : ",") + std::to_string(pid);
      }
      std::printf("{\"pids\":[%s]}\n", list.c_str());
      std::fflush(stdout);
    }
  }

  // Rank 0: whether there is another batch.
  bool next() {
    if (gated_) {
      int letter = 0;
      while ((letter = std::getchar()) != '\n') {
        if (letter == EOF) {
          return false;
        }
      }
      return true;
    }
    return done_++ < rounds_;
  }

 private:
  bool gated_;
  long rounds_;
  long done_ = 0;
};

// One result line on standard output; drivers read the lines that begin with '{'.
inline void print(const Object& object) {
  std::printf("%s\n", object.text().c_str());
  std::fflush(stdout);
}

// Rank 0 runs `measure`; the others wait inside MPI until it is done.
template <class Measure>
void with_attentive_targets(Measure measure, MPI_Comm comm = MPI_COMM_WORLD) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  constexpr int done_tag = 77;
  if (rank == 0) {
    measure();
    for (int other = 1; other < ranks; ++other) {
      MPI_Send(nullptr, 0, MPI_BYTE, other, done_tag, comm);
    }
  } else {
    MPI_Recv(nullptr, 0, MPI_BYTE, 0, done_tag, comm, MPI_STATUS_IGNORE);
  }
}

}  // namespace rma
