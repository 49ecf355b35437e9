#include "result.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

namespace hob::bench {

namespace {

std::string text_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  char buffer[32];
  double number = std::get<double>(value);
  std::snprintf(buffer, sizeof buffer,
                number < 10     ? "%.2f"
                : number < 1000 ? "%.1f"
                                : "%.0f",
                number);
  return buffer;
}

bool same_columns(const Row& a, const Row& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

void print_table(const std::vector<Row>& rows, std::size_t begin, std::size_t end) {
  std::vector<std::size_t> widths;
  for (const auto& [name, value] : rows[begin]) widths.push_back(name.size());
  for (std::size_t r = begin; r < end; ++r) {
    for (std::size_t c = 0; c < widths.size(); ++c) {
      widths[c] = std::max(widths[c], text_of(rows[r][c].second).size());
    }
  }
  for (std::size_t c = 0; c < widths.size(); ++c) {
    std::printf("%*s%s", static_cast<int>(widths[c]), rows[begin][c].first.c_str(),
                c + 1 < widths.size() ? "  " : "\n");
  }
  for (std::size_t r = begin; r < end; ++r) {
    for (std::size_t c = 0; c < widths.size(); ++c) {
      std::printf("%*s%s", static_cast<int>(widths[c]), text_of(rows[r][c].second).c_str(),
                  c + 1 < widths.size() ? "  " : "\n");
    }
  }
}

nlohmann::json machine() {
  nlohmann::json result;
  std::ifstream info("/proc/cpuinfo");
  std::int64_t processors = 0;
  for (std::string line; std::getline(info, line);) {
    auto colon = line.find(": ");
    if (line.starts_with("processor")) ++processors;
    if (line.starts_with("model name") && colon != std::string::npos) {
      result["cpu"] = line.substr(colon + 2);
    }
  }
  result["processors"] = processors;
  return result;
}

double clock_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

void Result::limit(std::string name, double value, double limit, bool at_least) {
  limits_.push_back({std::move(name), value, limit, at_least ? value >= limit : value <= limit});
}

void Result::print() const {
  for (std::size_t begin = 0; begin < rows_.size();) {
    std::size_t end = begin + 1;
    while (end < rows_.size() && same_columns(rows_[begin], rows_[end])) ++end;
    print_table(rows_, begin, end);
    std::printf("\n");
    begin = end;
  }
  for (const Limit& limit : limits_) {
    std::printf("%s  %s: %.2f (limit %.2f)\n", limit.ok ? "ok    " : "MISSED", limit.name.c_str(),
                limit.value, limit.limit);
  }
  for (const std::string& note : notes_) std::printf("%s\n", note.c_str());
}

void Result::write_json(const std::string& path) const {
  nlohmann::ordered_json document;
  document["bench"] = bench_;
  document["machine"] = machine();
  document["rows"] = nlohmann::json::array();
  for (const Row& row : rows_) {
    nlohmann::ordered_json object;
    for (const auto& [name, value] : row) {
      std::visit([&, key = name](const auto& plain) { object[key] = plain; }, value);
    }
    document["rows"].push_back(object);
  }
  document["limits"] = nlohmann::json::array();
  for (const Limit& limit : limits_) {
    document["limits"].push_back(
        {{"name", limit.name}, {"value", limit.value}, {"limit", limit.limit}, {"ok", limit.ok}});
  }
  document["notes"] = notes_;
  std::ofstream file(path);
  file << document.dump(1) << '\n';
  if (!file.flush()) {
    std::fprintf(stderr, "cannot write %s\n", path.c_str());
    std::exit(2);
  }
}

bool Result::all_ok() const {
  return std::all_of(limits_.begin(), limits_.end(), [](const Limit& limit) { return limit.ok; });
}

std::string Options::text(std::string_view name, std::string fallback) const {
  for (const auto& [key, value] : others) {
    if (key == name) return value;
  }
  return fallback;
}

double Options::number(std::string_view name, double fallback) const {
  std::string value = text(name, "");
  return value.empty() ? fallback : std::strtod(value.c_str(), nullptr);
}

Options read_options(int argc, char** argv, const std::vector<std::string>& allowed,
                     std::string_view usage) {
  Options options;
  auto stop = [&](int status) {
    std::fprintf(status == 0 ? stdout : stderr, "%.*s", static_cast<int>(usage.size()),
                 usage.data());
    std::exit(status);
  };
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--help") stop(0);
    if (word == "--quick") {
      options.quick = true;
      continue;
    }
    if (!word.starts_with("--") || i + 1 == argc) stop(2);
    word.remove_prefix(2);
    const char* value = argv[++i];
    if (word == "json") {
      options.json = value;
    } else if (std::find(allowed.begin(), allowed.end(), word) != allowed.end()) {
      options.others.emplace_back(word, value);
    } else {
      stop(2);
    }
  }
  return options;
}

int finish(const Result& result, const Options& options) {
  result.print();
  if (!options.json.empty()) result.write_json(options.json);
  return result.all_ok() ? 0 : 1;
}

double thread_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

double wall_ns() { return clock_ns(CLOCK_MONOTONIC); }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace hob::bench
