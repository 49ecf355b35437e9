// What a run of an example program did: one row of named numbers a rank, written as JSON by rank 0.
#pragma once

#include <mpi.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace apps {

// Every rank sets the same names in the same order. Numbers below 2^53 are exact.
class RunReport {
 public:
  explicit RunReport(std::string program) : program_(std::move(program)) {}

  // Properties of the whole run: rank 0's count. Texts must need no escaping.
  void describe(const std::string& name, double value) { run_.emplace_back(name, number(value)); }
  void describe(const std::string& name, const std::string& text) {
    run_.emplace_back(name, "\"" + text + "\"");
  }

  // Numbers of this rank. `total` says what the run's total is: the sum or the largest.
  enum class Total { sum, max };
  void set(const std::string& name, double value, Total total) {
    names_.push_back(name);
    values_.push_back(value);
    totals_.push_back(total);
  }

  // Collective. Fills rows and totals; call once, after the last set().
  void gather(MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks_);
    const int n = static_cast<int>(values_.size());
    rows_.resize(rank == 0 ? static_cast<std::size_t>(n) * ranks_ : 0);
    MPI_Gather(values_.data(), n, MPI_DOUBLE, rows_.data(), n, MPI_DOUBLE, 0, comm);
  }

  // Rank 0, after gather(): the run's total of a name.
  double total(const std::string& name) const {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) return total_of(i);
    throw std::invalid_argument("no such number: " + name);
  }

  // Rank 0, after gather(). Throws if the file cannot be written.
  void write(const std::string& path) const {
    std::string out = "{\"program\": \"" + program_ + "\", \"ranks\": " + std::to_string(ranks_);
    for (const auto& [name, value] : run_) out += ", \"" + name + "\": " + value;
    out += ",\n \"totals\": {";
    for (std::size_t i = 0; i < names_.size(); ++i)
      out += (i ? ", \"" : "\"") + names_[i] + "\": " + number(total_of(i));
    out += "},\n \"rows\": [";
    for (int r = 0; r < ranks_; ++r) {
      out += std::string(r ? "," : "") + "\n  {\"rank\": " + std::to_string(r);
      for (std::size_t i = 0; i < names_.size(); ++i)
        out += ", \"" + names_[i] + "\": " + number(rows_[r * names_.size() + i]);
      out += "}";
    }
    out += "]}\n";
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (!file) throw std::runtime_error("cannot write " + path);
    std::fputs(out.c_str(), file);
    if (std::fclose(file) != 0) throw std::runtime_error("cannot write " + path);
  }

 private:
  static std::string number(double value) {
    char text[32];
    if (value == std::floor(value) && std::fabs(value) < 9e15)
      std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value));
    else
      std::snprintf(text, sizeof text, "%.9g", value);
    return text;
  }
  double total_of(std::size_t i) const {
    double total = 0;
    for (int r = 0; r < ranks_; ++r) {
      const double value = rows_[r * names_.size() + i];
      total = totals_[i] == Total::sum ? total + value : std::max(total, value);
    }
    return total;
  }

  std::string program_;
  std::vector<std::pair<std::string, std::string>> run_;
  std::vector<std::string> names_;
  std::vector<double> values_;
  std::vector<Total> totals_;
  std::vector<double> rows_;
  int ranks_ = 0;
};

}  // namespace apps
