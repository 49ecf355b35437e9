#include "base/log.hpp"

#include <unistd.h>

#include <array>
#include <string>

namespace hob::log {
namespace {

constexpr std::array<std::string_view, 5> kNames{"off", "warn", "info", "debug", "trace"};

}  // namespace

std::optional<Level> parse_level(std::string_view word) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (word == kNames[i]) return static_cast<Level>(i);
  return std::nullopt;
}

void set_rank(int rank) { output.rank.store(rank, std::memory_order_relaxed); }

void write(Level level, std::string_view text) noexcept {
  if (!on(level)) return;
  try {
    const int rank = output.rank.load(std::memory_order_relaxed);
    const std::string whole =
        fmt::format("hob: {}{}: {}\n", rank >= 0 ? fmt::format("[rank {}] ", rank) : std::string(),
                    kNames[static_cast<std::size_t>(level)], text);
    // What standard error does not take is lost.
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, whole.data(), whole.size());
  } catch (...) {
    // No memory for one line.
  }
}

}  // namespace hob::log
