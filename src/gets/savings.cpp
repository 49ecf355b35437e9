#include "gets/savings.hpp"

#include <algorithm>
#include <array>

namespace hob::gets {
bool Savings::late(const Wait& wait) const {
  // What many take together is no sign of a late target until each of them takes long.
  constexpr double kTogether = 8;
  const double several = 1 + static_cast<double>(wait.gets - 1) / kTogether;
  return static_cast<double>(wait.spent) >
         static_cast<double>(config_.late) * several +
             config_.late_per_byte * static_cast<double>(wait.bytes);
}

void Savings::waited(const Wait& wait) noexcept {
  if (wait.gets == 0) return;
  const bool large = wait.bytes > kSmall * wait.gets;
  (large ? large_ : wait.gets == 1 ? lone_ : bursts_).add(wait);
  timely_ += late(wait) ? 0 : 1;
}

/// What `ticks(wait)` is in those waits that were not late.
template <class Ticks>
pay::PriceRange Savings::price(const Waits& waits, Ticks ticks) const {
  std::array<double, kSamples> samples{};
  std::size_t count = 0;
  for (const Wait& wait : waits.kept())
    if (!late(wait)) samples[count++] = ticks(wait);
  return pay::price_range(std::span(samples).first(count));
}

pay::PriceRange Savings::lone_price() const {
  return price(lone_, [](const Wait& wait) { return static_cast<double>(wait.spent); });
}

/// Of one get more among many. Where bursts were not measured, issuing it is the least.
pay::PriceRange Savings::burst_price(const pay::PriceRange& lone) const {
  const pay::PriceRange measured = price(bursts_, [&](const Wait& wait) {
    const auto spent = static_cast<double>(wait.spent);
    const auto gets = static_cast<double>(wait.gets);
    return lone.known ? std::max(0.0, spent - lone.usual) / (gets - 1) : spent / gets;
  });
  if (measured.known || !lone.known) return measured;
  return price(lone_, [](const Wait& wait) { return static_cast<double>(wait.issue); });
}

/// Of one byte of large gets. Where no wait for a small get was measured, it includes the latency.
pay::PriceRange Savings::byte_price(const pay::PriceRange& lone) const {
  return price(large_, [&](const Wait& wait) {
    return std::max(0.0, static_cast<double>(wait.spent) - lone.usual) /
           static_cast<double>(wait.bytes);
  });
}

pay::SavedRange Savings::estimate(const Counts& counts) const {
  pay::PriceRange lone = lone_price();
  pay::PriceRange more = burst_price(lone);
  pay::PriceRange byte = byte_price(lone);
  if (counts.native_each != 0)
    more = {counts.native_each, counts.native_each, counts.native_each, true};
  const bool of_bytes = counts.bytes > kSmall * counts.hits;
  if (!(of_bytes ? byte : lone).known && !more.known) return {};
  const HitCost& hit = hit_;
  // Waits are for bytes that were not touched before, which is slower where these are near: what a
  // later one would have taken is not known there, and is hardly more than a hit.
  if (lone.known ? lone.least < kNear * hit.ticks()
                 : more.known && more.least < kNear * hit.ticks())
    lone = more = {.known = true};
  if (byte.known && (config_.one_node || byte.least < kNear * hit.ticks_per_byte()))
    byte = {.known = true};
  if (!lone.known) lone = more;
  const auto trips = static_cast<double>(std::min(counts.trips, counts.hits));
  const auto others = static_cast<double>(counts.hits) - trips;
  const auto bytes = static_cast<double>(counts.bytes);
  const double spent = static_cast<double>(counts.hits) * hit.ticks() +
                       bytes * hit.ticks_per_byte() +
                       static_cast<double>(counts.ahead_bytes) * byte.usual;
  const auto saved = [&](double pay::PriceRange::*which) {
    return std::max(0.0, trips * lone.*which + others * more.*which + bytes * byte.*which - spent);
  };
  return {saved(&pay::PriceRange::least), saved(&pay::PriceRange::usual),
          saved(&pay::PriceRange::most), true};
}

}  // namespace hob::gets
