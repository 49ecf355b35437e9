// The strategies by name, and the engine of each.
#include "match/strategies.hpp"

#include <bit>
#include <charconv>
#include <stdexcept>

#include "match/engine.hpp"

namespace hob::match {

namespace {

constexpr unsigned kMaxBins = 1u << 20;

bool valid_array(unsigned entries) {
  return std::has_single_bit(entries) && entries >= 2 && entries <= 64;
}

bool valid_bins(unsigned bins) { return std::has_single_bit(bins) && bins <= kMaxBins; }

/// The N of "prefix-N", or nothing.
std::optional<unsigned> parameter(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  unsigned value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::unique_ptr<Engine> make_engine(const Config& config) {
  switch (config.strategy) {
    case Strategy::flat:
      return make_flat_engine(config);
    case Strategy::list:
      return make_list_engine(config);
    case Strategy::lla:
      if (!valid_array(config.entries_per_array)) {
        throw std::invalid_argument("match: entries per array must be 2, 4, 8, 16, 32 or 64");
      }
      return make_lla_engine(config);
    case Strategy::source_array:
      return make_source_array_engine(config);
    case Strategy::hash_bins:
      if (!valid_bins(config.bins)) {
        throw std::invalid_argument("match: bins must be a power of two, at most 1048576");
      }
      return make_hash_bins_engine(config);
  }
  throw std::invalid_argument("match: no such strategy");
}

std::optional<Config> parse_strategy(std::string_view text) {
  Config config;
  if (text == "flat" || text == "default") return config;
  config.strategy = Strategy::list;
  if (text == "list") return config;
  config.strategy = Strategy::source_array;
  if (text == "source-array") return config;
  config.strategy = Strategy::lla;
  if (text == "lla") return config;
  if (auto entries = parameter(text, "lla-")) {
    config.entries_per_array = *entries;
    return valid_array(*entries) ? std::optional(config) : std::nullopt;
  }
  config.strategy = Strategy::hash_bins;
  if (text == "hash") return config;
  if (auto bins = parameter(text, "hash-")) {
    config.bins = *bins;
    return valid_bins(*bins) ? std::optional(config) : std::nullopt;
  }
  return std::nullopt;
}

std::string strategy_name(const Config& config) {
  switch (config.strategy) {
    case Strategy::flat:
      return "flat";
    case Strategy::list:
      return "list";
    case Strategy::lla:
      return "lla-" + std::to_string(config.entries_per_array);
    case Strategy::source_array:
      return "source-array";
    case Strategy::hash_bins:
      return "hash-" + std::to_string(config.bins);
  }
  return "unknown";
}

}  // namespace hob::match
