// How ghosts wait for requests.
#pragma once

#include "pay/waiter.hpp"

namespace hob::ghost {

/// eager: automatic, on a core of its own; shared: automatic, on a core that others want.
enum class WaitStyle { spin, yield, block, eager, shared };

inline Waiter::Config waiting_of(WaitStyle style) {
  constexpr std::uint64_t us = 1000, ms = 1000 * us;
  // A sleeping process looks after its peers so often (do they still live?).
  constexpr std::uint64_t longest_sleep = 100 * ms;
  switch (style) {
    case WaitStyle::spin:
      return {.poll_ns = Waiter::kForEver};
    case WaitStyle::yield:
      return {};
    case WaitStyle::block:
      return {.sleep_ns = longest_sleep};
    case WaitStyle::eager:
      // Waking takes about 50 us: who spins as long as that loses at most a factor of two. On a
      // core of its own it then yields for ten times as long before it sleeps.
      return {.poll_ns = 50 * us, .yield_ns = 500 * us, .sleep_ns = longest_sleep};
    case WaitStyle::shared:
      break;
  }
  // Others want the core: never spin. A burst of requests has pauses of tens of microseconds; among
  // idle corunners polling is free, for as long as a phase of a program may pause.
  return {.yield_ns = 200 * us, .sleep_ns = longest_sleep, .idle_corunners_ns = 50 * ms};
}

}  // namespace hob::ghost
