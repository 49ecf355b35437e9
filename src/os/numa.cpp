#include "os/numa.hpp"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <numeric>
#include <system_error>
#include <utility>

namespace hob::os {
namespace {

/// More than any machine has: what a file says that is not the kernel's.
constexpr int kMost = 1 << 20;

std::string line_of(const std::string& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

}  // namespace

std::vector<int> numbers_in(const std::string& list) {
  std::vector<int> numbers;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at != end) {
    int first = 0;
    const auto [behind, error] = std::from_chars(at, end, first);
    if (error != std::errc() || first < 0 || first >= kMost) return {};
    int last = first;
    at = behind;
    if (at != end && *at == '-') {
      const auto [further, wrong] = std::from_chars(at + 1, end, last);
      if (wrong != std::errc() || last < first || last >= kMost) return {};
      at = further;
    }
    for (int number = first; number <= last; ++number) numbers.push_back(number);
    if (at == end) break;
    if (*at != ',') return {};
    ++at;
  }
  return numbers;
}

std::vector<std::vector<int>> numa_domains(const std::string& folder) {
  std::vector<std::vector<int>> domains;
  for (const int node : numbers_in(line_of(folder + "/online"))) {
    std::vector<int> cpus =
        numbers_in(line_of(folder + "/node" + std::to_string(node) + "/cpulist"));
    if (!cpus.empty()) domains.push_back(std::move(cpus));
  }
  if (!domains.empty()) return domains;
  const long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
  std::vector<int> all(static_cast<std::size_t>(cpus > 0 ? cpus : 1));
  std::iota(all.begin(), all.end(), 0);
  domains.push_back(std::move(all));
  return domains;
}

}  // namespace hob::os
