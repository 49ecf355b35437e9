#include "p2p_player.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "p2p_computing.hpp"
#include "p2p_exchanges.hpp"

namespace p2p {
namespace {

constexpr char untouched = static_cast<char>(0xa5);

/// The datatype of a receive, or of what is sent from its buffer.
class Type {
 public:
  explicit Type(const Receive& r) : type_(MPI_CHAR), count_(r.capacity) {
    if (r.type == 0) return;
    if (r.type == 1) {
      MPI_Type_contiguous(4, MPI_CHAR, &type_);
      count_ = (r.capacity + 3) / 4;
    } else {
      MPI_Type_vector(r.capacity, 1, 2, MPI_CHAR, &type_);
      count_ = 1;
    }
    MPI_Type_commit(&type_);
    own_ = true;
  }
  ~Type() {
    if (own_) MPI_Type_free(&type_);
  }
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;

  operator MPI_Datatype() const { return type_; }
  int count() const { return count_; }

 private:
  MPI_Datatype type_;
  int count_;
  bool own_ = false;
};

int step_of(const Receive& r) { return r.type == 2 ? 2 : 1; }

bool exact(const Receive& r) { return r.source != MPI_ANY_SOURCE && r.tag != MPI_ANY_TAG; }

/// Both may take the same message.
bool compete(const Receive& a, const Receive& b) {
  auto meet = [](int x, int y, int any) { return x == y || x == any || y == any; };
  return a.comm == b.comm && meet(a.source, b.source, MPI_ANY_SOURCE) &&
         meet(a.tag, b.tag, MPI_ANY_TAG);
}

/// MPI_Isendrecv may be used.
bool can_start_both(const Message& m, const Receive& r) {
  return P2P_HAS_MPI4 && features.isendrecv && m.comm == r.comm &&
         (features.isendrecv_status || exact(r)) && (features.isendrecv_types || r.type == 0);
}

/// Every rank's sends in the order it starts them: first those that do not block, then the others.
std::vector<const Message*> sends_of(const Phase& phase, int from) {
  std::vector<const Message*> order;
  for (bool blocking : {false, true}) {
    for (const Message& m : phase.messages)
      if (m.from == from && m.blocking == blocking) order.push_back(&m);
  }
  return order;
}

}  // namespace

/// My receives of a phase, in posting order; those that must be posted before anything blocks come
/// first.
std::vector<Receive> Player::make_receives(const Phase& phase) {
  std::vector<Receive> first, later;
  for (const Message& m : phase.messages) {
    if (m.to != rank) continue;
    Style style = phase.styles.at({m.to, m.comm});
    Receive r{};
    r.comm = m.comm;
    r.source = rank_in(m.comm, m.from);
    r.tag = m.tag;
    r.type = own_.below(3);
    bool any_source = false, any_tag = false;
    switch (style) {
      case Style::exact:
        break;
      case Style::by_tag:
        any_source = m.tag % 2;
        break;
      case Style::by_source:
        any_tag = m.from % 2 || size < 3;
        break;
      case Style::wild:
        any_source = any_tag = true;
        break;
      case Style::stream:
        any_source = own_.chance(50);
        any_tag = own_.chance(50);
        break;
    }
    if (any_source) r.source = MPI_ANY_SOURCE;
    if (any_tag) r.tag = MPI_ANY_TAG;
    // Room for any message that it may take.
    for (const Message& other : phase.messages) {
      bool fits = other.to == rank && other.comm == m.comm &&
                  (any_source || other.from == m.from) && (any_tag || other.tag == m.tag);
      if (fits) r.needed = std::max(r.needed, other.bytes);
    }
    r.capacity = r.needed + own_.below(20);
    if (r.capacity == 0 && r.type == 2) r.type = 0;
    r.buffer.assign(static_cast<std::size_t>(r.capacity) * 2 + 16, untouched);
    bool must_be_first = phase.receiver_first.at({m.to, m.comm});
    int way = must_be_first ? own_.below(2) : own_.below(7);
    r.way = static_cast<ReceiveWay>(way);
    (must_be_first ? first : later).push_back(std::move(r));
  }
  own_.shuffle(first);
  own_.shuffle(later);
  for (Receive& r : later) first.push_back(std::move(r));
  return first;
}

void Player::run(const Phase& phase) {
  std::vector<Receive> receives = make_receives(phase);
  pending_.clear();
  MPI_Request hopeless[3];
  int hopeless_count = own_.below(4);
  for (int i = 0; i < hopeless_count; ++i)
    MPI_Irecv(nullptr, 0, MPI_CHAR, MPI_ANY_SOURCE, never_sent + tag_base_ + i, comm_of(0),
              &hopeless[i]);
  Partitioned partitioned(phase, comms_[0], tag_base_, own_, pending_);
  Beside beside(phase, comm_of(0));

  // What must be started before anything blocks: receives that come first, nonblocking sends.
  std::size_t next_receive = 0, next_send = 0, first_receives_end = 0;
  while (first_receives_end < receives.size() &&
         phase.receiver_first.at({rank, receives[first_receives_end].comm}))
    ++first_receives_end;
  std::vector<const Message*> started, blocked;
  for (const Message& m : phase.messages)
    if (m.from == rank) (m.blocking ? blocked : started).push_back(&m);
  auto start_receives = [&] {
    while (next_receive < first_receives_end) post(receives[next_receive++]);
  };
  auto start_sends = [&] {
    while (next_send < started.size()) start(*started[next_send++]);
  };
  if (phase.kind == 1) {
    start_receives();
    barrier();
    start_sends();
  } else if (phase.kind == 2) {
    start_sends();
    barrier();
    start_receives();
  } else {
    while (next_receive < first_receives_end || next_send < started.size()) {
      bool both = next_receive < first_receives_end && next_send < started.size();
      if (both && can_start_both(*started[next_send], receives[next_receive]) && own_.chance(50)) {
        start_exchange(*started[next_send++], receives[next_receive++]);
      } else if (next_send == started.size() ||
                 (next_receive < first_receives_end && own_.chance(50))) {
        post(receives[next_receive++]);
      } else {
        start(*started[next_send++]);
      }
    }
  }
  std::size_t next_blocked = 0;
  while (next_receive < receives.size() || next_blocked < blocked.size()) {
    compute_sometimes(own_);
    bool both = next_receive < receives.size() && next_blocked < blocked.size();
    if (both && blocked[next_blocked]->comm == receives[next_receive].comm && own_.chance(60)) {
      const Message& m = *blocked[next_blocked++];
      Receive& r = receives[next_receive++];
      if (can_start_both(m, r) && own_.chance(40)) {
        start_exchange(m, r);
      } else if (features.sendrecv) {
        exchange(m, r);
      } else {
        send_blocking(m);
        take(r);
      }
    } else if (next_blocked == blocked.size() ||
               (next_receive < receives.size() && own_.chance(50))) {
      take(receives[next_receive++]);
    } else {
      send_blocking(*blocked[next_blocked++]);
    }
    if (own_.chance(5)) poke();
    if (own_.chance(5)) nobody();
  }
  flush();
  compute_sometimes(own_);
  for (int i = 0; i < hopeless_count; ++i) MPI_Cancel(&hopeless[i]);
  partitioned.look(own_);
  completion_ = complete(pending_, own_);
  beside.finish(own_);
  for (int i = 0; i < hopeless_count; ++i) {
    MPI_Status status;
    int cancelled = 0;
    MPI_Wait(&hopeless[i], &status);
    MPI_Test_cancelled(&status, &cancelled);
    if (!cancelled) throw Failure{"a receive that nothing matches was not cancelled"};
  }
  partitioned.check();
  check(phase, receives);
  barrier();
  contents_.clear();
  if (features.truncate && phase.truncated) exchange_truncated(phase, comms_[1], tag_base_, own_);
}

void Player::barrier() {
  flush();
  MPI_Barrier(comm_of(0));
}

/// A look that must change nothing.
void Player::poke() {
  int flag = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, never_sent + tag_base_, comm_of(0), &flag, MPI_STATUS_IGNORE);
  if (flag) throw Failure{"a probe saw a message that nobody sent"};
}

/// Communication with MPI_PROC_NULL, in which nothing happens.
void Player::nobody() {
  if (!features.nobody) return;
  char byte = untouched, other = 1;
  const int comm = own_.below(static_cast<int>(comms_.size())), tag = tag_base_;
  const MPI_Comm handle = comm_of(comm);
  MPI_Status status;
  MPI_Message message = MPI_MESSAGE_NULL;
  Pending request;
  request.kind = Pending::Kind::from_nobody;
  int flag = 0;
  switch (own_.below(9)) {
    case 0:
      MPI_Send(&other, 1, MPI_CHAR, MPI_PROC_NULL, tag, handle);
      MPI_Ssend(&other, 1, MPI_CHAR, MPI_PROC_NULL, tag, handle);
      return;
    case 1:
      MPI_Recv(&byte, 1, MPI_CHAR, MPI_PROC_NULL, tag, handle, &status);
      break;
    case 2:
      MPI_Sendrecv(&other, 1, MPI_CHAR, MPI_PROC_NULL, tag, &byte, 1, MPI_CHAR, MPI_PROC_NULL, tag,
                   handle, &status);
      break;
    case 3:
      MPI_Probe(MPI_PROC_NULL, tag, handle, &status);
      break;
    case 4:
      MPI_Mprobe(MPI_PROC_NULL, tag, handle, &message, &status);
      check_nobody(status, false);
      MPI_Mrecv(&byte, 1, MPI_CHAR, &message, &status);
      break;
    case 5:
      MPI_Improbe(MPI_PROC_NULL, tag, handle, &flag, &message, &status);
      if (!flag) throw Failure{"a probe of nobody found nothing"};
      check_nobody(status, false);
      MPI_Imrecv(&byte, 1, MPI_CHAR, &message, &request.request);
      pending_.push_back(request);
      return;
    case 6:
      MPI_Iprobe(MPI_PROC_NULL, MPI_ANY_TAG, handle, &flag, &status);
      if (!flag) throw Failure{"a probe of nobody found nothing"};
      break;
    case 7:
      MPI_Sendrecv_replace(&byte, 1, MPI_CHAR, MPI_PROC_NULL, tag, MPI_PROC_NULL, MPI_ANY_TAG,
                           handle, &status);
      break;
    default:
      MPI_Irecv(&other, 1, MPI_CHAR, MPI_PROC_NULL, MPI_ANY_TAG, handle, &request.request);
      pending_.push_back(request);
      return;
  }
  check_nobody(status, false);
  if (byte != untouched) throw Failure{"a receive from nobody wrote something"};
}

Player::Bytes& Player::content_of(const Message& m) {
  contents_.push_back(std::make_unique<Bytes>(static_cast<std::size_t>(m.bytes)));
  Bytes& data = *contents_.back();
  for (int i = 0; i < m.bytes; ++i) data[static_cast<std::size_t>(i)] = byte_of(m.id, i);
  return data;
}

void Player::start(const Message& m) {
  const Bytes& data = content_of(m);
  const void* from = data.data();
  const int to = rank_in(m.comm, m.to), tag = m.tag;
  const MPI_Comm comm = comm_of(m.comm);
  Pending send;
  send.persistent = features.persistent_send && own_.chance(15);
  const bool joins = send.persistent && features.startall && !batch_has_send_ && own_.chance(50);
  if (!joins) flush();
  using Start = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  static constexpr Start now[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
  static constexpr Start init[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
  (send.persistent ? init : now)[static_cast<int>(m.mode)](from, m.bytes, MPI_CHAR, to, tag, comm,
                                                           &send.request);
  if (joins) {
    batch_.push_back(send.request);
    batch_has_send_ = true;
  } else if (send.persistent) {
    MPI_Start(&send.request);
  }
  // Its buffer stays until every rank has checked what it received.
  if (!send.persistent && features.free_send && own_.chance(8))
    MPI_Request_free(&send.request);
  else
    pending_.push_back(send);
}

void Player::send_blocking(const Message& m) {
  flush();
  const Bytes& data = content_of(m);
  const int to = rank_in(m.comm, m.to);
  using Send = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
  static constexpr Send send[] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
  send[static_cast<int>(m.mode)](data.data(), m.bytes, MPI_CHAR, to, m.tag, comm_of(m.comm));
}

/// Whether its start may be left to MPI_Startall, which has no order.
bool Player::joins(const Receive& r) const {
  for (const Receive* other : batched_)
    if (compete(r, *other)) return false;
  return true;
}

void Player::flush() {
  if (!batch_.empty()) MPI_Startall(static_cast<int>(batch_.size()), batch_.data());
  batch_.clear();
  batched_.clear();
  batch_has_send_ = false;
}

void Player::post(Receive& r) {
  const Type type(r);
  const bool persistent = r.way == ReceiveWay::persistent;
  const bool together = persistent && features.startall && own_.chance(60) && joins(r);
  if (!together) flush();
  if (persistent) {
    MPI_Recv_init(r.buffer.data(), type.count(), type, r.source, r.tag, comm_of(r.comm),
                  &r.request);
    if (together) {
      batch_.push_back(r.request);
      batched_.push_back(&r);
    } else {
      MPI_Start(&r.request);
    }
  } else {
    MPI_Irecv(r.buffer.data(), type.count(), type, r.source, r.tag, comm_of(r.comm), &r.request);
  }
  if (features.free_receive && (!persistent || features.free_persistent) && !together && exact(r) &&
      own_.chance(8)) {
    r.freed = r.untold = true;
    MPI_Request_free(&r.request);
  } else {
    pending_.push_back({r.request, Pending::Kind::receive, &r, persistent});
  }
}

/// A receive of any kind, in its turn.
void Player::take(Receive& r) {
  if (r.way == ReceiveWay::irecv || r.way == ReceiveWay::persistent) return post(r);
  flush();
  if (r.way != ReceiveWay::recv) return take_probed(r);
  const Type type(r);
  if (features.sendrecv && features.nobody && own_.chance(15)) {
    r.way = ReceiveWay::sendrecv;
    MPI_Sendrecv(nullptr, 0, MPI_CHAR, MPI_PROC_NULL, 0, r.buffer.data(), type.count(), type,
                 r.source, r.tag, comm_of(r.comm), &r.status);
  } else {
    MPI_Recv(r.buffer.data(), type.count(), type, r.source, r.tag, comm_of(r.comm), &r.status);
  }
}

void Player::take_probed(Receive& r) {
  const Type type(r);
  const MPI_Comm comm = comm_of(r.comm);
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status seen;
  int flag = 0;
  switch (r.way) {
    case ReceiveWay::probe:
      MPI_Probe(r.source, r.tag, comm, &seen);
      MPI_Recv(r.buffer.data(), type.count(), type, seen.MPI_SOURCE, seen.MPI_TAG, comm, &r.status);
      break;
    case ReceiveWay::mprobe:
      MPI_Mprobe(r.source, r.tag, comm, &message, &seen);
      MPI_Mrecv(r.buffer.data(), type.count(), type, &message, &r.status);
      break;
    case ReceiveWay::improbe:
      while (!flag) MPI_Improbe(r.source, r.tag, comm, &flag, &message, &seen);
      MPI_Mrecv(r.buffer.data(), type.count(), type, &message, &r.status);
      break;
    default:
      MPI_Mprobe(r.source, r.tag, comm, &message, &seen);
      MPI_Imrecv(r.buffer.data(), type.count(), type, &message, &r.request);
      pending_.push_back({r.request, Pending::Kind::receive, &r, false});
      break;
  }
}

/// Makes the receive's buffer hold the message that is sent from it, if that can be.
bool Player::replace(const Message& m, Receive& r) {
  if (m.bytes < r.needed || !own_.chance(70)) return false;
  if (m.bytes == 0 || (r.type == 1 && m.bytes % 4 != 0)) r.type = 0;
  r.capacity = m.bytes;
  r.buffer.assign(static_cast<std::size_t>(r.capacity) * 2 + 16, untouched);
  const Bytes& data = content_of(m);
  for (int i = 0; i < m.bytes; ++i)
    r.buffer[static_cast<std::size_t>(i * step_of(r))] = data[static_cast<std::size_t>(i)];
  r.before = r.buffer;
  return true;
}

/// MPI_Sendrecv, MPI_Sendrecv_replace.
void Player::exchange(const Message& m, Receive& r) {
  flush();
  r.way = ReceiveWay::sendrecv;
  const int to = rank_in(m.comm, m.to);
  const MPI_Comm comm = comm_of(m.comm);
  if (replace(m, r)) {
    const Type type(r);
    MPI_Sendrecv_replace(r.buffer.data(), type.count(), type, to, m.tag, r.source, r.tag, comm,
                         &r.status);
    return;
  }
  const Type type(r);
  MPI_Sendrecv(content_of(m).data(), m.bytes, MPI_CHAR, to, m.tag, r.buffer.data(), type.count(),
               type, r.source, r.tag, comm, &r.status);
}

/// MPI_Isendrecv, MPI_Isendrecv_replace.
void Player::start_exchange([[maybe_unused]] const Message& m, [[maybe_unused]] Receive& r) {
#if P2P_HAS_MPI4
  flush();
  r.way = ReceiveWay::isendrecv;
  r.untold = !features.isendrecv_status;
  const int to = rank_in(m.comm, m.to);
  const MPI_Comm comm = comm_of(m.comm);
  if (replace(m, r)) {
    const Type type(r);
    MPI_Isendrecv_replace(r.buffer.data(), type.count(), type, to, m.tag, r.source, r.tag, comm,
                          &r.request);
  } else {
    const Type type(r);
    MPI_Isendrecv(content_of(m).data(), m.bytes, MPI_CHAR, to, m.tag, r.buffer.data(), type.count(),
                  type, r.source, r.tag, comm, &r.request);
  }
  pending_.push_back({r.request, Pending::Kind::receive, &r, false});
#endif
}

void Player::check(const Phase& phase, const std::vector<Receive>& receives) {
  std::map<std::pair<int, int>, std::vector<const Message*>>
      unmatched;  // (communicator, sender), in order
  for (int from = 0; from < size; ++from) {
    for (const Message* m : sends_of(phase, from))
      if (m->to == rank) unmatched[{m->comm, from}].push_back(m);
  }
  for (const Receive& r : receives) {
    const int source = r.untold ? r.source : r.status.MPI_SOURCE;
    const int from = comms_[static_cast<std::size_t>(r.comm)].sender(source);
    if (from < 0)
      throw Failure{"a receive of way " + std::to_string(static_cast<int>(r.way)) +
                    ", completed by way " + std::to_string(completion_) + ", reports the source " +
                    std::to_string(r.status.MPI_SOURCE)};
    if (r.source != MPI_ANY_SOURCE && source != r.source)
      throw Failure{"a receive has another source"};
    if (!r.untold && r.tag != MPI_ANY_TAG && r.status.MPI_TAG != r.tag)
      throw Failure{"a receive has another tag"};
    // Non-overtaking: the oldest message of this sender that the receive accepts and no older
    // receive took.
    auto& candidates = unmatched[{r.comm, from}];
    std::size_t i = 0;
    while (i < candidates.size() && r.tag != MPI_ANY_TAG && candidates[i]->tag != r.tag) ++i;
    if (i == candidates.size()) throw Failure{"a receive got more than was sent"};
    const Message& m = *candidates[i];
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(i));
    if (r.freed) await(r, m);
    compare(r, m);
  }
  for (const auto& [key, list] : unmatched)
    if (!list.empty()) throw Failure{"a message was not received"};
}

/// A receive whose request was freed is complete when its buffer is full.
void Player::await(const Receive& r, const Message& m) {
  for (int i = 0; i < m.bytes; ++i) {
    const volatile char& byte = r.buffer[static_cast<std::size_t>(i * step_of(r))];
    while (byte != byte_of(m.id, i)) poke();
  }
}

void Player::compare(const Receive& r, const Message& m) {
  int count = m.bytes, cancelled = 0, tag = m.tag;
  if (!r.untold) {
    MPI_Get_elements(&r.status, MPI_BYTE, &count);
    MPI_Test_cancelled(&r.status, &cancelled);
    tag = r.status.MPI_TAG;
  }
  auto describe = [&](const char* what) {
    return Failure{std::string(what) + ": message " + std::to_string(m.id) + " from " +
                   std::to_string(m.from) + " tag " + std::to_string(m.tag) + " bytes " +
                   std::to_string(m.bytes) + ", receive of source " + std::to_string(r.source) +
                   " tag " + std::to_string(r.tag) + " way " +
                   std::to_string(static_cast<int>(r.way)) + (r.freed ? " freed" : "") +
                   (r.before.empty() ? "" : " in place") + " type " + std::to_string(r.type) +
                   ", completed by way " + std::to_string(completion_) + ", status tag " +
                   std::to_string(tag) + " bytes " + std::to_string(count)};
  };
  if (tag != m.tag) throw describe("overtaken, by the tag");
  if (count != m.bytes) throw describe("overtaken, by the size");
  if (cancelled) throw describe("reported as cancelled");
  const int step = step_of(r);
  for (int i = 0; i < static_cast<int>(r.buffer.size()); ++i) {
    bool payload = i % step == 0 && i / step < m.bytes;
    char expected = payload            ? byte_of(m.id, i / step)
                    : r.before.empty() ? untouched
                                       : r.before[static_cast<std::size_t>(i)];
    if (r.buffer[static_cast<std::size_t>(i)] != expected)
      throw describe(payload ? "wrong content" : "written outside");
  }
  ++messages_;
  if (r.source != MPI_ANY_SOURCE)
    hash_ = (hash_ ^ static_cast<std::uint64_t>(m.id)) * 0x100000001b3u;
}

}  // namespace p2p
