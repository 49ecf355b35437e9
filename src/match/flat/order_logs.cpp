#include "match/flat/order_logs.hpp"

#include <algorithm>

namespace hob::match::flat {

namespace {

std::size_t home_of(std::uint32_t context, std::size_t cells) {
  return (std::uint64_t{context} * 0x9e3779b97f4a7c15u >> 32) & (cells - 1);
}

// Logs up to this size are kept an eighth full at most, larger ones half.
constexpr std::size_t roomy_records = 16384;

}  // namespace

std::uint32_t OrderLogs::oldest(const Slots& slots, std::uint32_t context) const {
  std::uint32_t at = find(context);
  if (at == none || logs_[at].epoch != epoch_) return none;
  const Log& log = logs_[at];
  for (; log.begin < log.end; ++log.begin) {
    Record record = log.records[log.begin];
    if (slots[record.slot].sequence == record.sequence) return record.slot;
  }
  return none;
}

std::uint32_t OrderLogs::find(std::uint32_t context) const {
  if (context == last_context_) return last_;
  if (cells_.empty()) return none;
  for (std::size_t i = home_of(context, cells_.size());; i = (i + 1) & (cells_.size() - 1)) {
    if (cells_[i] == none || logs_[cells_[i]].context == context) return cells_[i];
  }
}

std::uint32_t OrderLogs::make(std::uint32_t context) {
  if (2 * (logs_.size() + 1) > cells_.size()) {
    std::vector<std::uint32_t> fresh(std::max<std::size_t>(16, 2 * cells_.size()), none);
    for (std::uint32_t log = 0; log < logs_.size(); ++log) {
      std::size_t i = home_of(logs_[log].context, fresh.size());
      while (fresh[i] != none) i = (i + 1) & (fresh.size() - 1);
      fresh[i] = log;
    }
    cells_ = std::move(fresh);
  }
  auto at = static_cast<std::uint32_t>(logs_.size());
  logs_.push_back({Array<Record>(*memory_), 0, 0, 0, context});
  std::size_t i = home_of(context, cells_.size());
  while (cells_[i] != none) i = (i + 1) & (cells_.size() - 1);
  cells_[i] = at;
  return at;
}

void OrderLogs::reserve_slowly(const Slots& slots, std::uint32_t context) {
  std::uint32_t at = find(context);
  if (at == none) at = make(context);
  Log& log = logs_[at];
  if (log.epoch != epoch_) {
    touched_.push_back(at);
    log.epoch = epoch_;
    log.begin = log.end = 0;
  }
  if (log.end == log.records.capacity()) {
    // Which records are still good cannot be predicted, so there is no branch on it.
    std::uint32_t kept = 0;
    for (std::uint32_t i = log.begin; i < log.end; ++i) {
      Record record = log.records[i];
      log.records[kept] = record;
      kept += slots[record.slot].sequence == record.sequence;
    }
    log.begin = 0;
    log.end = kept;
    // The fuller the log, the sooner this comes again; large logs leave the caches to others.
    std::size_t spare = log.records.capacity() <= roomy_records ? 8 : 2;
    if (spare * kept >= log.records.capacity()) {
      log.records.resize(std::max<std::size_t>(256, 2 * log.records.capacity()), kept);
    }
  }
  last_ = at;
  last_context_ = context;
}

void OrderLogs::drop() {
  clear();
  last_context_ = ~std::uint64_t{0};
  logs_.clear();
  cells_.clear();
}

}  // namespace hob::match::flat
