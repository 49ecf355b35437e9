// What is done about a get that was looked up: the decision alone. Pure. The glue carries plans out
// (mpi/rma/cache/plans.cpp), and the model test plays them in every order
// (tests/unit/gets/model_test.cpp).
#pragma once

#include <concepts>
#include <cstdint>

#include "cache/cache.hpp"

namespace hob::gets {

/// One way to answer a get. The last three always succeed, and so does every refetch; with every
/// other one it may turn out that it cannot be done, and otherwise() says what is tried next.
enum class Plan : std::uint8_t {
  hit,        ///< copy what is here; cannot be done where there is no request for MPI_Rget
  refetch,    ///< fetch a hit again, into the program's buffer, and compare when it has arrived
  renew,      ///< fetch the block of a hit again: it is old, and these bytes are first asked for
  join,       ///< wait for a get under way that brings the bytes
  fragments,  ///< copy, or wait for, the two blocks that the bytes lie in
  tail,       ///< copy the first bytes, fetch the others, keep all of them
  from_node,  ///< take what another rank of the node fetched
  blocks,     ///< fetch the blocks around the bytes, and keep them
  replace,    ///< drop the entry that has only a part of the bytes; fetch and keep all of them
  exact,      ///< fetch the bytes, and keep them
  unkept      ///< fetch the bytes for the program alone
};

/// What decide() asks, each only where it matters: answers may cost a look at a clock.
template <class T>
concept PlanContext = requires(const T& context) {
  /// Own writes to this target may be under way: a get may overtake them, and bring older bytes.
  { context.writing() } -> std::convertible_to<bool>;
  /// A full hit that is due to be fetched again, in case the program polls (PollGuard).
  { context.polled() } -> std::convertible_to<bool>;
  /// A full hit on bytes that no get had asked for, and that have become too old for that.
  { context.aged() } -> std::convertible_to<bool>;
  /// The end of the bytes can be fetched alone: contiguous at both ends, and not atomic.
  { context.divisible() } -> std::convertible_to<bool>;
  /// The ranks of the node share gets of this kind.
  { context.shared() } -> std::convertible_to<bool>;
  /// More than was asked for may be fetched for gets of this kind.
  { context.readahead() } -> std::convertible_to<bool>;
};

/// A get of the very bytes. What overtakes an own write must not be kept.
template <PlanContext Context>
constexpr Plan fetch_plan(const Context& context) {
  return context.writing() ? Plan::unkept : Plan::exact;
}

/// For bytes that are not here: neither blocks nor what others fetched may be older than an own
/// write under way.
template <PlanContext Context>
constexpr Plan miss_plan(const Context& context, bool node_asked = false) {
  if (context.writing()) return Plan::unkept;
  if (!node_asked && context.shared()) return Plan::from_node;
  return context.readahead() ? Plan::blocks : Plan::exact;
}

/// The plan for a get of which a lookup `found` this.
template <PlanContext Context>
constexpr Plan decide(cache::Hit found, const Context& context) {
  switch (found) {
    case cache::Hit::full:
      if (context.aged()) return Plan::renew;
      return context.polled() ? Plan::refetch : Plan::hit;
    case cache::Hit::pending_full:
      return Plan::join;
    case cache::Hit::partial:
      if (context.writing()) return Plan::unkept;
      return context.divisible() ? Plan::tail : Plan::replace;
    case cache::Hit::pending_partial:
      return Plan::unkept;  // its entry is in use
    case cache::Hit::split:
      return Plan::fragments;
    case cache::Hit::missing:
      break;
  }
  return miss_plan(context);
}

/// The plan after one that could not be carried out: nothing was issued for it.
template <PlanContext Context>
constexpr Plan otherwise(Plan failed, const Context& context) {
  switch (failed) {
    case Plan::hit:
      return Plan::refetch;
    case Plan::renew:
      return context.polled() ? Plan::refetch : Plan::hit;
    case Plan::join:
      return Plan::unkept;  // its entry is in use
    case Plan::fragments:
      return miss_plan(context);
    case Plan::tail:
      return Plan::replace;
    case Plan::from_node:
      return miss_plan(context, true);
    case Plan::blocks:
      return fetch_plan(context);
    case Plan::refetch:
    case Plan::replace:
    case Plan::exact:
    case Plan::unkept:
      break;
  }
  return fetch_plan(context);
}

/// For messages and traces.
constexpr const char* name_of(Plan plan) {
  constexpr const char* names[] = {"hit",       "refetch", "renew",   "join",  "fragments", "tail",
                                   "from node", "blocks",  "replace", "exact", "unkept"};
  return names[static_cast<int>(plan)];
}

}  // namespace hob::gets
