#include "workload.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <type_traits>

#include "result.hpp"

namespace hob::bench {

namespace {

constexpr std::uint32_t peers = 128;

void* item() {
  static char anything;
  return &anything;
}

void expect(bool matched) {
  if (matched) return;
  std::fprintf(stderr, "a match that had to be found was not found\n");
  std::exit(3);
}

constexpr bool at_tail(Pattern pattern) {
  return pattern == Pattern::tail || pattern == Pattern::tail_wild;
}

constexpr bool wild(Pattern pattern) {
  return pattern == Pattern::tail_wild || pattern == Pattern::random_wild;
}

}  // namespace

std::string pattern_name(Pattern pattern) {
  switch (pattern) {
    case Pattern::tail:
      return "tail";
    case Pattern::tail_wild:
      return "tail, 10% wild";
    case Pattern::random:
      return "random";
    case Pattern::random_wild:
      return "random, 10% wild";
  }
  return "";
}

template <Queue queue, Pattern pattern>
inline Workload::Step Workload::step(std::size_t i) {
  auto index = static_cast<std::uint32_t>(i);
  auto number = static_cast<std::int32_t>(i);
  if constexpr (at_tail(pattern)) {
    Step step{{0, 1, 1}, {0, 1, 1}};
    if (wild(pattern) && queue == Queue::umq && index % 10 == 0) {
      step.receive.source = match::kAnySource;
    }
    return step;
  } else {
    match::Envelope envelope{0, static_cast<std::int32_t>(index % peers),
                             static_cast<std::int32_t>(index / peers) + 1};
    Step step{envelope, envelope};
    if constexpr (wild(pattern)) {
      // A tenth, rounded: half of it from any source and half with any tag. One message fits each
      // of these receives only: its tag or its source is nobody else's.
      bool source = index % 20 == 5;
      bool tag = index % 20 == 15;
      step.message.tag = source ? number + 1000000 : step.message.tag;
      step.message.source = tag ? number + static_cast<std::int32_t>(peers) : step.message.source;
      step.receive.source = source ? match::kAnySource : step.message.source;
      step.receive.tag = tag ? match::kAnyTag : step.message.tag;
    }
    return step;
  }
}

/// The number of the entry that the next match goes to.
inline std::size_t Workload::next() {
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  return (random_ >> 32) * depth_ >> 32;
}

template <class Use>
void Workload::with_types(Use&& use) {
  auto with_queue = [&]<Queue queue>(std::integral_constant<Queue, queue> q) {
    switch (pattern_) {
      case Pattern::tail:
        return use(q, std::integral_constant<Pattern, Pattern::tail>());
      case Pattern::tail_wild:
        return use(q, std::integral_constant<Pattern, Pattern::tail_wild>());
      case Pattern::random:
        return use(q, std::integral_constant<Pattern, Pattern::random>());
      case Pattern::random_wild:
        return use(q, std::integral_constant<Pattern, Pattern::random_wild>());
    }
  };
  queue_ == Queue::prq ? with_queue(std::integral_constant<Queue, Queue::prq>())
                       : with_queue(std::integral_constant<Queue, Queue::umq>());
}

Workload::Step Workload::any_step(std::size_t i) {
  Step result;
  with_types([&]<Queue queue, Pattern pattern>(std::integral_constant<Queue, queue>,
                                               std::integral_constant<Pattern, pattern>) {
    result = step<queue, pattern>(i);
  });
  return result;
}

Workload::Workload(const match::Config& config, Queue queue, Pattern pattern, std::size_t depth)
    : engine_(match::make_engine(config)),
      queue_(queue),
      pattern_(pattern),
      depth_(at_tail(pattern) ? depth : std::max<std::size_t>(depth, 1)) {
  std::vector<Step> entries;
  for (std::size_t i = 0; i < depth_; ++i) {
    if (!at_tail(pattern)) {
      entries.push_back(any_step(i));  // all are queued to begin with
      continue;
    }
    auto tag = static_cast<std::int32_t>(i + 10);
    match::Envelope envelope{0, 1, tag};
    if (queue == Queue::prq && wild(pattern) && i % 10 == 0) {
      envelope = i % 20 == 0 ? match::Envelope{0, match::kAnySource, tag}
                             : match::Envelope{0, tag, match::kAnyTag};
    }
    entries.push_back({envelope, envelope});
  }
  std::mt19937 random(1);
  std::shuffle(entries.begin(), entries.end(), random);
  // Twice, emptied in random order in between: that is what a used pool looks like.
  fill(entries, false);
  fill(entries, true);
}

void Workload::fill(const std::vector<Step>& entries, bool keep) {
  std::vector<match::Handle> handles;
  for (const Step& entry : entries) {
    handles.push_back(queue_ == Queue::prq ? engine_->post(entry.receive, item()).handle
                                           : engine_->arrive(entry.message, item()).handle);
  }
  if (keep) return;
  std::shuffle(handles.begin(), handles.end(), std::mt19937(2));
  for (match::Handle handle : handles) {
    queue_ == Queue::prq ? engine_->cancel(handle) : engine_->extract(handle);
  }
}

/// Queues what is to be found.
template <Queue queue>
inline void Workload::add(const Step& step) {
  if constexpr (queue == Queue::prq) {
    engine_->post(step.receive, item());
  } else {
    engine_->arrive(step.message, item());
  }
}

/// Finds and takes it.
template <Queue queue>
inline bool Workload::take(const Step& step) {
  if constexpr (queue == Queue::prq) {
    return engine_->arrive(step.message, item()).request != nullptr;
  } else {
    return engine_->post(step.receive, item()).message != nullptr;
  }
}

template <Queue queue, Pattern pattern>
double Workload::run_as(std::size_t matches) {
  bool all_found = true;
  double ns = 0;
  for (std::size_t done = 0; done < matches;) {
    std::span<Step> steps(steps_.data(), std::min(steps_.size(), matches - done));
    for (Step& each : steps) {
      each = step<queue, pattern>(at_tail(pattern) ? done : next());
      ++done;
    }
    double begin = wall_ns();
    for (const Step& now : steps) {
      if (at_tail(pattern)) add<queue>(now);
      all_found &= take<queue>(now);
      if (!at_tail(pattern)) add<queue>(now);
    }
    ns += wall_ns() - begin;
  }
  expect(all_found);
  return ns;
}

double Workload::run(std::size_t matches) {
  double ns = 0;
  with_types([&]<Queue queue, Pattern pattern>(std::integral_constant<Queue, queue>,
                                               std::integral_constant<Pattern, pattern>) {
    ns = run_as<queue, pattern>(matches);
  });
  return ns;
}

void Workload::search() {
  Step now = any_step(at_);
  expect(queue_ == Queue::prq ? take<Queue::prq>(now) : take<Queue::umq>(now));
}

void Workload::refill() {
  Step now = any_step(at_);
  queue_ == Queue::prq ? add<Queue::prq>(now) : add<Queue::umq>(now);
  if (!at_tail(pattern_)) at_ = next();
}

}  // namespace hob::bench
