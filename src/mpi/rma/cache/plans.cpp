// Carries out what gets::decide() decides about a get that was looked up.
#include "base/clock.hpp"
#include "mpi/rma/cache/cached_gets.hpp"

namespace hob::mpi {

/// A get that was looked up, and what its decision depends on.
class CachedGets::GetContext : public LookedUp {
 public:
  GetContext(const CachedGets& window, const LookedUp& asked) : LookedUp(asked), window_(window) {}

  bool writing() const { return target.writing(); }
  bool polled() const {
    // Old bytes that were recalled: what could not be renewed with its block is fetched by itself,
    // within the share of these.
    if (HOB_UNLIKELY(hit.tag != 0)) return window_.old_ahead(hit, now());
    return window_.mode() == Mode::automatic &&
           HOB_UNLIKELY(window_.learning_.due(hit.consecutive, window_.known_at(hit), now()));
  }
  bool aged() const { return HOB_UNLIKELY(hit.first) && window_.old_ahead(hit, now()); }
  bool divisible() const {
    return wanted.contiguous && wanted.contiguous_at_origin(get) && !get.is_atomic();
  }
  bool shared() const { return window_.sharing_.covers(get, wanted, target); }
  bool readahead() const { return window_.ahead_ || window_.recalls_; }

  /// When this was asked first.
  std::uint64_t now() const {
    if (now_ == 0) now_ = ticks();
    return now_;
  }

 protected:
  const CachedGets& window_;

 private:
  mutable std::uint64_t now_ = 0;
};

/// The same of a get with a request, after which its buffer is the program's. It is not taken from
/// the node's log, nor is the end of what is partly here fetched alone.
class CachedGets::RequestContext : public CachedGets::GetContext {
 public:
  RequestContext(CachedGets& window, const LookedUp& asked, MadeRequest& its)
      : GetContext(window, asked), made(its), settling_(window) {}

  bool writing() const {
    settling_.settle_assumed_writes(get.target, target);
    return target.writing();
  }
  /// Polling by request needs no flush, which is where a copy ends in mode strict. And a plain get
  /// that renews what has aged would still write to the buffer after the request's completion.
  bool polled() const {
    const Mode mode = window_.mode();
    if (HOB_UNLIKELY(hit.tag != 0)) return window_.old_ahead(hit, now());
    return aged() || ((mode == Mode::automatic || mode == Mode::strict) &&
                      window_.learning_.due(hit.consecutive, window_.known_at(hit), now()));
  }
  bool divisible() const { return false; }
  bool shared() const { return false; }

  MadeRequest& made;

 private:
  CachedGets& settling_;
};

template <class AnyContext>
int CachedGets::answer(Plan plan, const AnyContext& context) {
  hot_.close();
  int result = MPI_SUCCESS;
  while (!carry_out(plan, context, result)) plan = gets::otherwise(plan, context);
  if (HOB_UNLIKELY(log::on(log::Level::trace)))
    log::line(log::Level::trace, "window {}: {} bytes of rank {} at {}: {}", window_.id,
              context.wanted.size, context.get.target, context.wanted.key.displacement,
              gets::name_of(plan));
  return result;
}

/// Serves or issues a get that was looked up.
int CachedGets::answer(const LookedUp& asked) {
  const GetContext context(*this, asked);
  const Plan plan = gets::decide(asked.hit.kind, context);
  if (HOB_LIKELY(plan == Plan::hit)) {
    serve(asked, context.now());
    return MPI_SUCCESS;
  }
  return answer(plan, context);
}

/// Whether nothing is issued for a get that was looked up.
bool CachedGets::is_served(const LookedUp& asked) const {
  return !verifier_.on() && gets::decide(asked.hit.kind, GetContext(*this, asked)) == Plan::hit;
}

/// Serves, joins or issues a get with a request that was looked up.
int CachedGets::answer(const LookedUp& asked, MadeRequest& made) {
  const RequestContext context(*this, asked, made);
  return answer(gets::decide(asked.hit.kind, context), context);
}

/// The first get of a window that is left for this reason at level debug, all at level trace.
void CachedGets::log_skipped(const Get& get, SkipReason why) {
  const std::uint32_t bit = std::uint32_t{1} << static_cast<unsigned>(why);
  const log::Level level = (logged_ & bit) == 0 ? log::Level::debug : log::Level::trace;
  logged_ |= bit;
  log::line(level, "window {}: gets from rank {} are not cached: {}", window_.id, get.target,
            gets::words_of(why));
}

void CachedGets::refetch_begins(bool recalled, std::uint64_t now) {
  if (recalled && recalls_)
    recalls_->refetch_begins(now);
  else
    learning_.refetch_begins(now);
}

/// False if nothing was issued nor served: what is tried next may do.
bool CachedGets::carry_out(Plan plan, const GetContext& context, int& result) {
  const auto& [get, t, wanted, hit] = static_cast<const LookedUp&>(context);
  switch (plan) {
    case Plan::hit:
      serve(context, context.now());
      return true;
    case Plan::refetch:
      refetch_begins(hit.tag != 0, context.now());
      result = issuer_.refetch(get, t,
                               {.entry = hit.entry,
                                .layout = wanted.origin,
                                .bytes = wanted.size,
                                .offset = hit.offset,
                                .speculative = hit.tag != 0});
      return true;
    case Plan::renew:
      return blocks_ && blocks_->issue_again(context);
    case Plan::join:
      return serve_pending(context);
    case Plan::fragments:
      return serve_split(context);
    case Plan::tail:
      return issuer_.fetch_tail(context, result);
    case Plan::from_node:
      return serve_shared(get, t, wanted, result);
    case Plan::blocks:
      return (recalls_ && recalls_->issue(context)) || issue_blocks(get, t, wanted);
    case Plan::replace:
      cache_->drop(hit.entry);
      [[fallthrough]];
    case Plan::exact:
      result = issuer_.fetch(get, t, wanted);
      return true;
    case Plan::unkept:
      result = issuer_.issue(get, t);
      return true;
  }
  return false;
}

/// The same of a get with a request.
bool CachedGets::carry_out(Plan plan, const RequestContext& context, int& result) {
  const auto& [get, t, wanted, hit] = static_cast<const LookedUp&>(context);
  switch (plan) {
    case Plan::hit:
      if (!requested_.make(*context.made.request)) return false;
      context.made.served = true;
      serve(context, context.now());
      return true;
    case Plan::renew:
      return blocks_ && blocks_->issue_again(context);
    case Plan::join:
      return join(context, context.made);
    case Plan::fragments:
      return serve_split(context);
    case Plan::blocks:
      return issue_blocks(get, t, wanted);
    case Plan::replace:
      cache_->drop(hit.entry);
      plan = Plan::exact;
      break;
    case Plan::refetch:
      refetch_begins(hit.tag != 0, context.now());
      break;
    case Plan::exact:
    case Plan::unkept:
      break;
    case Plan::tail:
    case Plan::from_node:
      return false;
  }
  result = requested_.issue(context, plan, context.made);
  return true;
}

}  // namespace hob::mpi
