#include "cache/readahead.hpp"

#include <algorithm>
#include <bit>

#include "cache/block.hpp"

namespace hob::cache {
namespace {

/// Trips that must have continued a stream before it runs ahead without blocks.
constexpr std::uint32_t kStreamTrips = 3;
/// The least that a stream fetches at once.
constexpr std::uint32_t kStreamShift = 12;

/// Gets that may be watched without a trip in between; and when watching begins again.
constexpr std::uint32_t kMostCredit = 8192;
constexpr std::uint32_t kEnoughCredit = 512;
/// Decisions in a row that changed nothing, after which there is a pause.
constexpr std::uint32_t kUnchanged = 8;
/// Gets in a row that may be watched while all of them are hits: a program that gains by a
/// decision is not to pay for having made it.
constexpr std::uint32_t kMostHits = 512;
/// A hit that no block could have spared counts as so many of these.
constexpr std::uint32_t kOtherHit = 8;
/// Decisions with a short record.
constexpr std::uint32_t kSmallDecisions = 2;
/// Gets that are watched, for each entry of the cache, when that has become full.
constexpr double kGetsForEachEntry = 8;
/// Ranges that are forgotten one by one with no get watched in between.
constexpr std::uint32_t kMostDrops = 256;
/// Gets that bring the model up to date after a pause.
constexpr std::uint32_t kWarmUp = 128;

/// Of a get that is longer than a block, as it is recorded.
constexpr std::uint64_t kMostPieces = 16;

/// A cache of fewer bytes is taken to grow to this if it may. A larger one may find no reason to:
/// blocks that are not asked for twice would be fetched into it without use.
constexpr std::uint64_t kSmallStorage = std::uint64_t{16} << 20;

/// The least that a trip for blocks adds: one part in so many of the get.
constexpr std::uint64_t kLeastAdded = 4;

/// Gets whose mean size is known.
constexpr std::uint64_t kMeanOf = 1024;

/// What a trip may cost at most, by what the get alone does.
constexpr double kLongestTrip = 3.5;
/// Gets: what brings so many is seen by fewer than one in a hundred.
constexpr double kManyGets = 128;

/// Blocks of a new choice that there must be budget for: one alone would show nothing, and a cache
/// that holds a block here and a get there holds less of both.
constexpr double kLeastBlocks = 16;

constexpr double kLeastBias = 0.2;
/// Programs have phases: the knowledge of a choice is forgotten by and by. What is known of the
/// present one is then the best guess.
constexpr double kForgetBias = 0.02;

}  // namespace

Readahead::Readahead(const Config& config)
    : config_(config),
      credit_(kEnoughCredit),
      look_({.first = config.first_look, .longest = config.longest_look}),
      until_look_(config.first_look),
      budget_({.share = config.budget_share,
               .first = config.first_budget * config.latency,
               .most = config.most_budget * config.latency}) {
  bias_.fill(1);
  if (config_.fixed_bytes == 0) return;
  shift_ = std::clamp(static_cast<std::uint32_t>(std::bit_width(config_.fixed_bytes)) - 1,
                      kMinBlockShift, kMaxBlockShift);
  while (shift_ > kMinBlockShift && !fits(shift_)) --shift_;
}

void Readahead::on_get(std::uint32_t target, std::uint64_t displacement,
                       std::uint64_t size) noexcept {
  if (size == 0 || !recording_) return;
  drops_ = 0;
  if (credit_ == 0) {
    recording_ = false;
    // A program that hits nearly always makes few trips in all: it would never be decided.
    if (until_look_ <= look_.now() / 2) decide();
    return;
  }
  if (++since_trip_ > kMostHits) recording_ = false;
  const bool counts = warming_ == 0;
  if (counts) ++looked_at_;
  const auto charge = [&](std::size_t i, double seen, double cost) {
    if (!counts) return;
    seen_[i] += seen;
    costs_[i] += cost;
  };
  std::uint32_t notes = 1;
  const double alone = cost_of(1, static_cast<double>(size));
  const MissShadow::Sight exact = shadow_.note(0, target, displacement);
  charge(0, exact.stands_for, exact.missing() * alone);
  for (std::size_t i = 1; i < kChoices; ++i) {
    const std::uint32_t shift = MissShadow::kShifts[i];
    const std::uint64_t first = displacement >> shift;
    const std::uint64_t last = (displacement + size - 1) >> shift;
    if (last - first > 1) {
      // An entry of its own, which takes the room of as many blocks.
      const std::uint64_t step = std::max<std::uint64_t>((last - first) / kMostPieces, 1);
      double seen = 0, missing = 0, pieces = 0;
      for (std::uint64_t number = first; number <= last; number += step, ++pieces) {
        const MissShadow::Sight piece = shadow_.note(i, ~target, number);
        seen += piece.stands_for;
        missing += piece.missing();
        ++notes;
      }
      charge(i, seen / pieces, missing / pieces * alone);
      continue;
    }
    const double block = static_cast<double>(std::uint64_t{1} << shift);
    const MissShadow::Sight one = shadow_.note(i, target, first);
    const MissShadow::Sight other =
        first == last ? MissShadow::Sight{} : shadow_.note(i, target, last);
    // Neighbours come with one trip.
    charge(i, std::max(one.stands_for, other.stands_for),
           cost_of(std::max(one.missing(), other.missing()),
                   (one.missing() + other.missing()) * block));
    ++notes;
  }
  // Watching costs what is noted: a long get counts as several.
  const std::uint32_t spent = std::max<std::uint32_t>(notes / kChoices, 1);
  credit_ -= std::min(credit_, spent);
  warming_ -= std::min(warming_, spent);
  // Here and not in on_trip(): both sides must be of the same gets.
  if (until_look_ == 0) decide();
}

void Readahead::on_other_hit(std::uint32_t target, std::uint64_t displacement) noexcept {
  if (!recording_) return;
  if ((since_trip_ += kOtherHit) > kMostHits) recording_ = false;
  // From now on they are here.
  shadow_.note(0, target, displacement);
}

/// Bytes that may be fetched around a get of `size` bytes, at most `most`.
std::uint64_t Readahead::longest_trip(double size, std::uint64_t most) const {
  if (static_cast<double>(most) >= kManyGets * size) return most;
  const double bytes = (kLongestTrip * cost_of(1, size) - config_.latency) / config_.per_byte;
  return static_cast<std::uint64_t>(std::min(bytes, static_cast<double>(most)));
}

/// Of all gets that were looked at, after what the sample of them would have cost.
double Readahead::modelled(std::size_t choice) const {
  return seen_[choice] == 0 ? 0 : costs_[choice] * looked_at_ / seen_[choice];
}

void Readahead::on_hits(std::uint64_t total) noexcept {
  budget_.earned(static_cast<double>(total - hits_) * config_.latency);
  hits_ = total;
}

/// Whether so many blocks of the size of a choice may be lost.
bool Readahead::affordable(std::size_t choice, double blocks) const {
  const auto block = static_cast<double>(std::uint64_t{1} << MissShadow::kShifts[choice]);
  return choice == 0 || blocks * (block - mean_size_) * config_.per_byte <= budget_.left();
}

void Readahead::on_trip(std::uint64_t bytes, std::uint64_t asked) noexcept {
  if (!config_.enabled || config_.fixed_bytes != 0) return;
  since_trip_ = 0;
  budget_.earned(config_.budget_share * cost_of(1, static_cast<double>(asked)));
  budget_.spent(std::min(budget_.left(), static_cast<double>(bytes - asked) * config_.per_byte));
  const bool filled = fetched_ < most_storage_ && fetched_ + bytes >= most_storage_;
  fetched_ += bytes;
  if (filled) look_anew();
  const double cost = cost_of(1, static_cast<double>(bytes));
  // Long trips weigh more: what does not pay shall not go on for hundreds of them.
  const auto weight = static_cast<std::uint32_t>(std::clamp(cost / config_.latency, 1.0, 1000.0));
  credit_ = std::min(credit_ + config_.credit * weight, kMostCredit);
  if (!recording_) {
    pause_ -= std::min(pause_, weight);
    if (pause_ != 0) return;
    if (credit_ < kEnoughCredit && trips_ > config_.first_look) return;
    warming_ = trips_ > config_.first_look ? kWarmUp : 0;
    recording_ = size_shadow();
    return;
  }
  if (warming_ != 0) return;
  paid_ += cost;
  until_look_ -= std::min(until_look_, weight);
}

void Readahead::forget_costs() {
  costs_ = seen_ = {};
  paid_ = looked_at_ = 0;
}

/// While the cache fills, blocks are right nearly always. Whether they were can be seen when it is
/// full: by many gets, for most of them are hits then.
void Readahead::look_anew() {
  const double entries = static_cast<double>(most_storage_) / mean_size_;
  const auto gets = static_cast<std::uint32_t>(
      std::min(kGetsForEachEntry * entries, static_cast<double>(kMostCredit)));
  credit_ = std::max(credit_, gets);
  pause_ = unchanged_ = 0;
  pauses_.reset();
  forget_costs();
  until_look_ = look_.now();
  warming_ = std::max(credit_ / 4, kWarmUp);
  recording_ = size_shadow();
}

void Readahead::decide() {
  // A new choice first pays for filling the cache anew, which it does once: until then, the model
  // alone says what it costs.
  const double said = modelled(choice_);
  if (fetched_ < storage_ && changes_ != 0)
    paid_ = std::min(paid_, said * bias_[choice_]);
  else if (said > 0)
    bias_[choice_] = std::clamp((bias_[choice_] + paid_ / said) / 2, kLeastBias, 1 / kLeastBias);
  std::size_t best = choice_;
  double limit = paid_;
  for (std::size_t c = 0; c < kChoices; ++c) {
    if (c != 0 && config_.storage_share << MissShadow::kShifts[c] > storage_) break;
    if (c != 0 && !fits(MissShadow::kShifts[c])) break;
    if (c == choice_ || !affordable(c, kLeastBlocks)) continue;
    if (const std::uint64_t block = c == 0 ? 0 : std::uint64_t{1} << MissShadow::kShifts[c];
        block > longest_trip(mean_size_, block))
      continue;
    bias_[c] += (bias_[choice_] - bias_[c]) * kForgetBias;
    const double share = choice_ == 0 ? config_.widen : config_.change;
    if (seen_[c] == 0) continue;
    const double cost = modelled(c) * bias_[c];
    if (cost >= (best == choice_ ? paid_ * share : limit)) continue;
    best = c;
    limit = cost;
  }
  look_.lengthen();
  if (best != choice_) {
    choose(best);
  } else {
    for (double& cost : costs_) cost /= 2;
    for (double& seen : seen_) seen /= 2;
    paid_ /= 2;
    looked_at_ /= 2;
    ++unchanged_;
  }
  until_look_ = look_.now();
  ++decisions_;
  size_shadow();
  // What is recorded stays: what a pause leaves out, later looks add.
  if (unchanged_ < kUnchanged) return;
  pause_ = look_.now() * pauses_.next();
  recording_ = false;
}

/// Of the first budget: what blocks spare is latency. The smaller its part of a trip is, the less
/// likely they pay, the less they bring, and the fewer gets there are that could. The power is
/// chosen: trials of 64 KiB end after a third of the time, those of 4 KiB have four fifths.
double Readahead::not_risked() const {
  const double part = config_.latency / cost_of(1, mean_size_);
  return config_.first_budget * config_.latency * (1 - part * part * part);
}

void Readahead::choose(std::size_t choice) {
  if (changes_ == 0) budget_.spent(not_risked());
  choice_ = choice;
  shift_ = MissShadow::kShifts[choice];
  ++changes_;
  fetched_ = 0;
  unchanged_ = 0;
  pauses_.reset();
  forget_costs();
}

// A program may have many windows of few gets each: their records are short.
bool Readahead::size_shadow() {
  return shadow_.set_capacity(
      most_storage_, static_cast<std::uint64_t>(mean_size_),
      decisions_ < kSmallDecisions || choice_ == 0 ? MissShadow::kFew : MissShadow::kMost);
}

Readahead::Stream& Readahead::stream_of(std::uint32_t target, std::uint64_t displacement) {
  Stream* oldest = &streams_[0];
  for (Stream& stream : streams_) {
    if (stream.length != 0 && stream.target == target && displacement >= stream.next &&
        displacement - stream.next <= stream.window / 8)
      return stream;
    if (stream.used < oldest->used) oldest = &stream;
  }
  *oldest = {.target = target};
  return *oldest;
}

Readahead::Plan Readahead::plan_of(std::uint64_t displacement, std::uint64_t size,
                                   std::uint64_t exposed, Range readable, std::uint32_t shift,
                                   std::uint64_t wish) const {
  // Blocks begin at multiples of their size; only at the end of the memory one may be shorter.
  const auto leaves_readable = [&](std::uint32_t by) {
    const std::uint64_t end = block_begin(displacement + size - 1, by) + (std::uint64_t{1} << by);
    return block_begin(displacement, by) < readable.begin || std::min(end, exposed) > readable.end;
  };
  while (leaves_readable(shift))
    if (shift-- == kMinBlockShift) return {};
  const std::uint64_t begin = block_begin(displacement, shift);
  const std::uint64_t last = block_begin(displacement + size - 1, shift);
  const std::uint64_t block = std::uint64_t{1} << shift;
  if (last - begin > block) return {};
  const std::uint64_t least = 1 + (last - begin) / block;
  const std::uint64_t most = std::min<std::uint64_t>(config_.longest_fetch >> shift, kMostBlocks);
  if (least > most) return {};
  std::uint64_t blocks = std::clamp(wish >> shift, least, most);
  if (readable.end < exposed) blocks = std::min(blocks, (readable.end - begin) >> shift);
  const std::uint64_t end = std::min(begin + blocks * block, exposed);
  // What adds little spares few trips, and blocks are copied once more than a get.
  if (end - begin < size + size / kLeastAdded && config_.fixed_bytes == 0) return {};
  return {begin, end, shift, shift_ == 0};
}

Readahead::Plan Readahead::on_miss(std::uint32_t target, std::uint64_t displacement,
                                   std::uint64_t size, std::uint64_t exposed, Range readable,
                                   std::uint64_t storage, std::uint64_t most_storage) noexcept {
  if (!config_.enabled || size == 0 || size > exposed || displacement > exposed - size) return {};
  ++trips_;
  storage_ = storage;
  most_storage_ = std::max(storage, std::min(most_storage, kSmallStorage));
  if (config_.fixed_bytes != 0) return plan_of(displacement, size, exposed, readable, shift_, 0);
  mean_size_ += (static_cast<double>(size) - mean_size_) /
                static_cast<double>(std::min<std::uint64_t>(trips_, kMeanOf));

  Stream& stream = stream_of(target, displacement);
  stream.used = trips_;
  ++stream.length;
  if (!affordable(choice_, 1)) {
    choose(0);
    until_look_ = look_.now();
  }
  std::uint32_t shift = shift_;
  std::uint64_t wish = 0;
  if (stream.length > kStreamTrips) {
    const std::uint64_t most = longest_trip(static_cast<double>(size),
                                            std::min({config_.longest_stream, config_.longest_fetch,
                                                      storage / (2 * config_.storage_share)}));
    wish = std::min(std::max(2 * stream.window, std::uint64_t{1} << kStreamShift), most);
    if (wish >> kStreamShift != 0)
      shift =
          std::max({shift, kStreamShift, static_cast<std::uint32_t>(std::bit_width(wish)) - 1 - 3});
  }
  Plan plan = shift == 0 ? Plan{} : plan_of(displacement, size, exposed, readable, shift, wish);
  stream.next = plan ? plan.end : displacement + size;
  stream.window = plan ? plan.end - plan.begin : size;
  return plan;
}

void Readahead::on_drop() noexcept {
  shadow_.forget();
  streams_ = {};
}

void Readahead::on_drop(std::uint32_t target, std::uint64_t begin, std::uint64_t bytes) noexcept {
  // A program that writes and does not read pays for no exact record.
  if (drops_ > kMostDrops) return;
  if (++drops_ <= kMostDrops)
    shadow_.forget(target, begin, bytes);
  else
    shadow_.forget();
}

}  // namespace hob::cache
