// Random legal two-sided programs. Every rank makes the same plan from the seed, carries out its
// part and checks all that MPI determines: contents, sizes, sources, tags, and order where the plan
// leaves a choice.
//
//   p2p_fuzz [--seed N] [--programs N] [--threads N] [--phases N]
//
// A plan is a list of phases. In each, every pair (destination, communicator) has a style, which
// makes all legal matchings complete: exact receives, wildcard sources by tag, wildcard tags by
// source, wildcards only, or one stream that any kind of receive may take. For each pair either all
// receives or all sends are started before the rank that starts them blocks, so that no plan can
// deadlock.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int never_sent = 30000;  // a tag that no message has
constexpr unsigned deadline = 120;

int rank, size;
int program_number;

struct Random {
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  int below(int bound) { return static_cast<int>(next() % static_cast<unsigned>(bound)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<std::size_t>(below(static_cast<int>(i)))]);
    }
  }
};

enum class Style { exact, by_tag, by_source, wild, stream };
enum class SendMode { standard, synchronous, buffered, ready };
enum class ReceiveWay { irecv, persistent, recv, probe, mprobe, improbe, imrecv };

struct Message {
  int id, from, to, comm, tag, bytes;
  SendMode mode;
  bool blocking;
};

struct Receive {
  int comm, source, tag, capacity;  // source and tag may be wildcards
  ReceiveWay way;
  int type;  // 0: bytes, 1: groups of four bytes, 2: every second byte
  // what came of it
  std::vector<char> buffer;
  MPI_Status status{};
  MPI_Request request = MPI_REQUEST_NULL;
};

struct Phase {
  int kind;  // 0: as it comes, 1: barrier between receives and sends, 2: between sends and receives
  std::vector<Message> messages;
  std::map<std::pair<int, int>, Style> styles;  // (destination, communicator)
  std::map<std::pair<int, int>, bool> receiver_first;
};

struct Failure {
  std::string what;
};

void on_alarm(int) {
  char text[128];
  int n = std::snprintf(text, sizeof text, "p2p_fuzz: rank %d: program %d missed its deadline\n",
                        rank, program_number);
  (void)!write(2, text, static_cast<std::size_t>(n));
  _exit(97);
}

char byte_of(int id, int position) {
  return static_cast<char>(id * 131 + position * 7 + position / 256);
}

int some_size(Random& random) {
  static constexpr int sizes[] = {0,    1,    3,     8,     64,     100,   1000,
                                  4096, 8192, 16384, 65536, 131072, 262144};
  int base = random.chance(75) ? sizes[random.below(7)] : sizes[random.below(13)];
  int shifted = base + random.below(3) - 1;
  return shifted < 0 ? 0 : shifted;
}

/// One thread's part of a program: its communicators and its random stream, the same on every rank.
class Player {
 public:
  Player(std::uint64_t seed, std::vector<MPI_Comm> comms, int shared_from, int tag_base)
      : plan_{seed},
        own_{seed ^ static_cast<std::uint64_t>(rank + 1) * 0x1234567},
        comms_(std::move(comms)),
        shared_from_(shared_from),
        tag_base_(tag_base) {
    for (MPI_Comm comm : comms_) {
      std::vector<int> of_world(static_cast<std::size_t>(size)),
          all(static_cast<std::size_t>(size));
      MPI_Group group, world;
      MPI_Comm_group(comm, &group);
      MPI_Comm_group(MPI_COMM_WORLD, &world);
      for (int i = 0; i < size; ++i) all[static_cast<std::size_t>(i)] = i;
      MPI_Group_translate_ranks(world, size, all.data(), group, of_world.data());
      MPI_Group_free(&group);
      MPI_Group_free(&world);
      rank_in_.push_back(of_world);
    }
  }

  /// Throws Failure at the first thing that is not as MPI says.
  void play(int phases) {
    for (int p = 0; p < phases; ++p) run(make_phase());
  }

  std::uint64_t hash() const { return hash_; }
  long messages() const { return messages_; }

 private:
  Phase make_phase() {
    Phase phase;
    phase.kind = plan_.below(3);
    int count = plan_.chance(20) ? 100 + plan_.below(200) : 5 + plan_.below(40);
    if (size > 2) count /= 2;
    int tags = 1 + plan_.below(12);
    for (int to = 0; to < size; ++to) {
      for (int comm = 0; comm < static_cast<int>(comms_.size()); ++comm) {
        // Threads that share a communicator have tags of their own, so no wildcard tags there.
        int styles = comm >= shared_from_ ? 2 : 5;
        phase.styles[{to, comm}] = static_cast<Style>(plan_.below(styles));
        phase.receiver_first[{to, comm}] = phase.kind == 1 || (phase.kind == 0 && plan_.chance(50));
      }
    }
    std::vector<int> stream_source(static_cast<std::size_t>(size) * comms_.size());
    for (int& source : stream_source) source = plan_.below(size);
    for (int i = 0; i < count; ++i) {
      Message m{};
      m.id = next_id_++;
      m.from = plan_.below(size);
      m.to = plan_.below(size);
      m.comm = plan_.below(static_cast<int>(comms_.size()));
      m.tag = tag_base_ + plan_.below(tags);
      m.bytes = some_size(plan_);
      Style style = phase.styles[{m.to, m.comm}];
      if (style == Style::stream) {
        m.from = stream_source[static_cast<std::size_t>(m.to) * comms_.size() +
                               static_cast<std::size_t>(m.comm)];
        m.tag = tag_base_;
      }
      bool receiver_first = phase.receiver_first[{m.to, m.comm}];
      int mode = plan_.below(10);
      m.mode = mode < 5   ? SendMode::standard
               : mode < 8 ? SendMode::synchronous
                          : SendMode::buffered;
      if (mode == 9 && phase.kind == 1) m.mode = SendMode::ready;
      if (m.mode == SendMode::buffered && m.bytes > 20000) m.mode = SendMode::standard;
      m.blocking = receiver_first && plan_.chance(30);
      // A blocking send to oneself is safe too: the receive is posted before.
      phase.messages.push_back(m);
    }
    return phase;
  }

  /// My receives of a phase, in posting order; those that must be posted before anything blocks
  /// come first.
  std::vector<Receive> make_receives(const Phase& phase) {
    std::vector<Receive> first, later;
    for (const Message& m : phase.messages) {
      if (m.to != rank) continue;
      Style style = phase.styles.at({m.to, m.comm});
      Receive r{};
      r.comm = m.comm;
      r.source = rank_in_[static_cast<std::size_t>(m.comm)][static_cast<std::size_t>(m.from)];
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
        if (fits) r.capacity = std::max(r.capacity, other.bytes);
      }
      r.capacity += own_.below(20);
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

  static MPI_Datatype type_of(const Receive& r) {
    if (r.type == 0) return MPI_CHAR;
    MPI_Datatype type;
    if (r.type == 1) {
      MPI_Type_contiguous(4, MPI_CHAR, &type);
    } else {
      MPI_Type_vector(r.capacity, 1, 2, MPI_CHAR, &type);
    }
    MPI_Type_commit(&type);
    return type;
  }
  static int count_of(const Receive& r) {
    return r.type == 1 ? (r.capacity + 3) / 4 : r.type == 0 ? r.capacity : 1;
  }
  static void done_with(MPI_Datatype type, const Receive& r) {
    if (r.type != 0) MPI_Type_free(&type);
  }

  void run(const Phase& phase) {
    std::vector<Receive> receives = make_receives(phase);
    std::vector<std::unique_ptr<std::vector<char>>> contents;
    std::vector<MPI_Request> requests;
    std::vector<const Message*> sends;
    for (const Message& m : phase.messages) {
      if (m.from == rank) sends.push_back(&m);
    }
    for (Receive& r : receives) {
      r.buffer.assign(static_cast<std::size_t>(r.capacity) * 2 + 16, static_cast<char>(0xa5));
      if (r.type == 2 && r.capacity == 0) r.type = 0;
    }
    MPI_Request hopeless[3];
    int hopeless_count = own_.below(4);
    for (int i = 0; i < hopeless_count; ++i) {
      MPI_Irecv(nullptr, 0, MPI_CHAR, MPI_ANY_SOURCE, never_sent + tag_base_ + i, comms_[0],
                &hopeless[i]);
    }

    // What must be started before anything blocks: receives that come first, nonblocking sends.
    std::size_t next_receive = 0, next_send = 0;
    auto first_receives_end = [&] {
      std::size_t end = 0;
      while (end < receives.size() && phase.receiver_first.at({rank, receives[end].comm})) ++end;
      return end;
    }();
    std::vector<const Message*> started, blocked;
    for (const Message* m : sends) (m->blocking ? blocked : started).push_back(m);
    auto start_receives = [&] {
      while (next_receive < first_receives_end) post(receives[next_receive++]);
    };
    auto start_sends = [&] {
      while (next_send < started.size()) requests.push_back(start(*started[next_send++], contents));
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
        bool receive =
            next_send == started.size() || (next_receive < first_receives_end && own_.chance(50));
        if (receive) {
          post(receives[next_receive++]);
        } else {
          requests.push_back(start(*started[next_send++], contents));
        }
      }
    }
    std::size_t next_blocked = 0;
    while (next_receive < receives.size() || next_blocked < blocked.size()) {
      if (next_blocked == blocked.size() || (next_receive < receives.size() && own_.chance(50))) {
        take(receives[next_receive++]);
      } else {
        send_blocking(*blocked[next_blocked++]);
      }
      if (own_.chance(5)) poke();
    }
    for (int i = 0; i < hopeless_count; ++i) MPI_Cancel(&hopeless[i]);
    complete(receives, requests);
    for (int i = 0; i < hopeless_count; ++i) {
      MPI_Status status;
      int cancelled = 0;
      MPI_Wait(&hopeless[i], &status);
      MPI_Test_cancelled(&status, &cancelled);
      if (!cancelled) throw Failure{"a receive that nothing matches was not cancelled"};
    }
    check(phase, receives);
    barrier();
  }

  void barrier() { MPI_Barrier(comms_[0]); }

  /// A look that must change nothing.
  void poke() {
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, never_sent + tag_base_, comms_[0], &flag, MPI_STATUS_IGNORE);
    if (flag) throw Failure{"a probe saw a message that nobody sent"};
  }

  MPI_Request start(const Message& m, std::vector<std::unique_ptr<std::vector<char>>>& contents) {
    contents.push_back(std::make_unique<std::vector<char>>(static_cast<std::size_t>(m.bytes)));
    std::vector<char>& data = *contents.back();
    fill(data, m);
    MPI_Request request = MPI_REQUEST_NULL;
    int to = rank_in_[static_cast<std::size_t>(m.comm)][static_cast<std::size_t>(m.to)];
    MPI_Comm comm = comms_[static_cast<std::size_t>(m.comm)];
    switch (m.mode) {
      case SendMode::standard:
        MPI_Isend(data.data(), m.bytes, MPI_CHAR, to, m.tag, comm, &request);
        break;
      case SendMode::synchronous:
        MPI_Issend(data.data(), m.bytes, MPI_CHAR, to, m.tag, comm, &request);
        break;
      case SendMode::buffered:
        MPI_Ibsend(data.data(), m.bytes, MPI_CHAR, to, m.tag, comm, &request);
        break;
      case SendMode::ready:
        MPI_Irsend(data.data(), m.bytes, MPI_CHAR, to, m.tag, comm, &request);
        break;
    }
    return request;
  }

  void send_blocking(const Message& m) {
    std::vector<char> data(static_cast<std::size_t>(m.bytes));
    fill(data, m);
    int to = rank_in_[static_cast<std::size_t>(m.comm)][static_cast<std::size_t>(m.to)];
    MPI_Comm comm = comms_[static_cast<std::size_t>(m.comm)];
    switch (m.mode) {
      case SendMode::standard:
        MPI_Send(data.data(), m.bytes, MPI_CHAR, to, m.tag, comm);
        break;
      case SendMode::synchronous:
        MPI_Ssend(data.data(), m.bytes, MPI_CHAR, to, m.tag, comm);
        break;
      case SendMode::buffered:
        MPI_Bsend(data.data(), m.bytes, MPI_CHAR, to, m.tag, comm);
        break;
      case SendMode::ready:
        MPI_Rsend(data.data(), m.bytes, MPI_CHAR, to, m.tag, comm);
        break;
    }
  }

  static void fill(std::vector<char>& data, const Message& m) {
    for (int i = 0; i < m.bytes; ++i) data[static_cast<std::size_t>(i)] = byte_of(m.id, i);
  }

  void post(Receive& r) {
    MPI_Datatype type = type_of(r);
    MPI_Comm comm = comms_[static_cast<std::size_t>(r.comm)];
    if (r.way == ReceiveWay::persistent) {
      MPI_Recv_init(r.buffer.data(), count_of(r), type, r.source, r.tag, comm, &r.request);
      MPI_Start(&r.request);
    } else {
      MPI_Irecv(r.buffer.data(), count_of(r), type, r.source, r.tag, comm, &r.request);
    }
    done_with(type, r);
  }

  /// A receive of any kind, in its turn.
  void take(Receive& r) {
    MPI_Comm comm = comms_[static_cast<std::size_t>(r.comm)];
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status seen;
    int flag = 0;
    if (r.way == ReceiveWay::irecv || r.way == ReceiveWay::persistent) return post(r);
    MPI_Datatype type = type_of(r);
    switch (r.way) {
      case ReceiveWay::recv:
        MPI_Recv(r.buffer.data(), count_of(r), type, r.source, r.tag, comm, &r.status);
        break;
      case ReceiveWay::probe:
        MPI_Probe(r.source, r.tag, comm, &seen);
        MPI_Recv(r.buffer.data(), count_of(r), type, seen.MPI_SOURCE, seen.MPI_TAG, comm,
                 &r.status);
        break;
      case ReceiveWay::mprobe:
        MPI_Mprobe(r.source, r.tag, comm, &message, &seen);
        MPI_Mrecv(r.buffer.data(), count_of(r), type, &message, &r.status);
        break;
      case ReceiveWay::improbe:
        while (!flag) MPI_Improbe(r.source, r.tag, comm, &flag, &message, &seen);
        MPI_Mrecv(r.buffer.data(), count_of(r), type, &message, &r.status);
        break;
      default:
        MPI_Mprobe(r.source, r.tag, comm, &message, &seen);
        MPI_Imrecv(r.buffer.data(), count_of(r), type, &message, &r.request);
        break;
    }
    done_with(type, r);
  }

  /// All requests, by a wait or test function chosen at random; statuses go to the receives.
  void complete(std::vector<Receive>& receives, const std::vector<MPI_Request>& sends) {
    std::vector<MPI_Request> all(sends);
    std::vector<Receive*> owner(sends.size(), nullptr);
    for (Receive& r : receives) {
      if (r.request == MPI_REQUEST_NULL) continue;
      all.push_back(r.request);
      owner.push_back(&r);
    }
    int count = static_cast<int>(all.size()), left = count, done = 0, index = 0, flag = 0;
    std::vector<MPI_Status> statuses(all.size());
    std::vector<int> indices(all.size());
    auto finished = [&](int i, const MPI_Status& status) {
      if (owner[static_cast<std::size_t>(i)]) owner[static_cast<std::size_t>(i)]->status = status;
      --left;
    };
    completion_ = count ? own_.below(8) : 0;
    switch (completion_) {
      case 0:
        MPI_Waitall(count, all.data(), statuses.data());
        for (int i = 0; i < count; ++i) finished(i, statuses[static_cast<std::size_t>(i)]);
        break;
      case 1:
        while (left) {
          MPI_Waitany(count, all.data(), &index, statuses.data());
          if (index == MPI_UNDEFINED) throw Failure{"waitany lost a request"};
          finished(index, statuses[0]);
        }
        break;
      case 2:
        while (left) {
          MPI_Waitsome(count, all.data(), &done, indices.data(), statuses.data());
          if (done == MPI_UNDEFINED) throw Failure{"waitsome lost a request"};
          for (int i = 0; i < done; ++i)
            finished(indices[static_cast<std::size_t>(i)], statuses[static_cast<std::size_t>(i)]);
        }
        break;
      case 3:
        while (!flag) MPI_Testall(count, all.data(), &flag, statuses.data());
        for (int i = 0; i < count; ++i) finished(i, statuses[static_cast<std::size_t>(i)]);
        break;
      case 4:
        while (left) {
          MPI_Testany(count, all.data(), &index, &flag, statuses.data());
          if (!flag) continue;
          if (index == MPI_UNDEFINED) throw Failure{"testany lost a request"};
          finished(index, statuses[0]);
        }
        break;
      case 5:
        while (left) {
          MPI_Testsome(count, all.data(), &done, indices.data(), statuses.data());
          if (done == MPI_UNDEFINED) throw Failure{"testsome lost a request"};
          for (int i = 0; i < done; ++i)
            finished(indices[static_cast<std::size_t>(i)], statuses[static_cast<std::size_t>(i)]);
        }
        break;
      case 6:  // MPICH 5 has an empty status for a persistent receive after this, so it is asked
               // here
        for (std::size_t i = 0; i < all.size(); ++i) {
          flag = 0;
          while (!flag) MPI_Request_get_status(all[i], &flag, &statuses[0]);
          MPI_Wait(&all[i], MPI_STATUS_IGNORE);
          finished(static_cast<int>(i), statuses[0]);
        }
        break;
      default:
        for (int i = count - 1; i >= 0; --i) {
          flag = 0;
          while (!flag) MPI_Test(&all[static_cast<std::size_t>(i)], &flag, &statuses[0]);
          finished(i, statuses[0]);
        }
        break;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      bool persistent = owner[i] && owner[i]->way == ReceiveWay::persistent;
      if (persistent && all[i] != MPI_REQUEST_NULL) MPI_Request_free(&all[i]);
      if (all[i] != MPI_REQUEST_NULL) throw Failure{"a completed request is not null"};
    }
  }

  /// Every rank's sends in the order it starts them: first those that do not block, then the
  /// others.
  static std::vector<const Message*> sends_of(const Phase& phase, int from) {
    std::vector<const Message*> order;
    for (bool blocking : {false, true}) {
      for (const Message& m : phase.messages) {
        if (m.from == from && m.blocking == blocking) order.push_back(&m);
      }
    }
    return order;
  }

  void check(const Phase& phase, const std::vector<Receive>& receives) {
    std::map<std::pair<int, int>, std::vector<const Message*>>
        unmatched;  // (communicator, sender), in order
    for (int from = 0; from < size; ++from) {
      for (const Message* m : sends_of(phase, from)) {
        if (m->to == rank) unmatched[{m->comm, from}].push_back(m);
      }
    }
    for (const Receive& r : receives) {
      int from = -1;
      for (int w = 0; w < size; ++w) {
        if (rank_in_[static_cast<std::size_t>(r.comm)][static_cast<std::size_t>(w)] ==
            r.status.MPI_SOURCE)
          from = w;
      }
      if (from < 0) {
        throw Failure{"a receive of way " + std::to_string(static_cast<int>(r.way)) +
                      ", completed by way " + std::to_string(completion_) +
                      ", reports the source " + std::to_string(r.status.MPI_SOURCE)};
      }
      if (r.source != MPI_ANY_SOURCE && r.status.MPI_SOURCE != r.source)
        throw Failure{"a receive has another source"};
      if (r.tag != MPI_ANY_TAG && r.status.MPI_TAG != r.tag)
        throw Failure{"a receive has another tag"};
      // Non-overtaking: the oldest message of this sender that the receive accepts and no older
      // receive took.
      auto& candidates = unmatched[{r.comm, from}];
      std::size_t i = 0;
      while (i < candidates.size() && r.tag != MPI_ANY_TAG && candidates[i]->tag != r.tag) ++i;
      if (i == candidates.size()) throw Failure{"a receive got more than was sent"};
      const Message& m = *candidates[i];
      candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(i));
      compare(r, m);
    }
    for (const auto& [key, list] : unmatched) {
      if (!list.empty()) throw Failure{"a message was not received"};
    }
  }

  void compare(const Receive& r, const Message& m) {
    int count = -1, cancelled = 1;
    MPI_Get_elements(&r.status, MPI_BYTE, &count);
    MPI_Test_cancelled(&r.status, &cancelled);
    auto describe = [&](const char* what) {
      return Failure{std::string(what) + ": message " + std::to_string(m.id) + " from " +
                     std::to_string(m.from) + " tag " + std::to_string(m.tag) + " bytes " +
                     std::to_string(m.bytes) + ", receive of source " + std::to_string(r.source) +
                     " tag " + std::to_string(r.tag) + " way " +
                     std::to_string(static_cast<int>(r.way)) + " type " + std::to_string(r.type) +
                     ", status tag " + std::to_string(r.status.MPI_TAG) + " bytes " +
                     std::to_string(count)};
    };
    if (r.status.MPI_TAG != m.tag) throw describe("overtaken, by the tag");
    if (count != m.bytes) throw describe("overtaken, by the size");
    if (cancelled) throw describe("reported as cancelled");
    int step = r.type == 2 ? 2 : 1;
    for (int i = 0; i < static_cast<int>(r.buffer.size()); ++i) {
      bool payload = i % step == 0 && i / step < m.bytes;
      char expected = payload ? byte_of(m.id, i / step) : static_cast<char>(0xa5);
      if (r.buffer[static_cast<std::size_t>(i)] != expected)
        throw describe(payload ? "wrong content" : "written outside");
    }
    ++messages_;
    if (r.source != MPI_ANY_SOURCE)
      hash_ = (hash_ ^ static_cast<std::uint64_t>(m.id)) * 0x100000001b3u;
  }

  Random plan_;  // the same on every rank
  Random own_;   // this rank's
  std::vector<MPI_Comm> comms_;
  int shared_from_;  // communicators from this index on are shared with other threads
  int tag_base_;
  std::vector<std::vector<int>> rank_in_;  // [communicator][rank in the world]
  int completion_ = 0;                     // how the last requests were completed
  int next_id_ = 1;
  long messages_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

long option(int argc, char** argv, const char* name, long otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) return std::atol(argv[i + 1]);
  }
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  long seed = option(argc, argv, "--seed", 1), programs = option(argc, argv, "--programs", 20);
  int phases = static_cast<int>(option(argc, argv, "--phases", 6));
  int threads = static_cast<int>(option(argc, argv, "--threads", 1));
  int provided = 0;
  MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (threads > 1 && provided < MPI_THREAD_MULTIPLE) threads = 1;
  signal(SIGALRM, on_alarm);
  int buffer_bytes = 64 << 20;
  std::vector<char> bsend_buffer(static_cast<std::size_t>(buffer_bytes));
  MPI_Buffer_attach(bsend_buffer.data(), buffer_bytes);

  // Communicators that live on, and one for each program that comes and goes.
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  std::vector<std::vector<MPI_Comm>> own(static_cast<std::size_t>(threads));
  for (auto& list : own) {
    list.resize(2);
    MPI_Comm_dup(MPI_COMM_WORLD, &list[0]);
    MPI_Comm_dup(reversed, &list[1]);
  }
  long messages = 0;
  std::uint64_t hash = 0;
  for (program_number = 0; program_number < programs; ++program_number) {
    alarm(deadline);
    MPI_Comm passing;
    MPI_Comm_dup(program_number % 2 ? reversed : MPI_COMM_WORLD, &passing);
    std::vector<std::unique_ptr<Player>> players;
    // Every other program has tags beyond 32767, the highest that a library must offer.
    const int first_tag = program_number % 2 ? 1000000 : 0;
    for (int t = 0; t < threads; ++t) {
      std::vector<MPI_Comm> comms = own[static_cast<std::size_t>(t)];
      int shared_from = threads > 1 ? 2 : 99;
      comms.push_back(threads > 1 ? MPI_COMM_WORLD : passing);
      players.push_back(
          std::make_unique<Player>(static_cast<std::uint64_t>((seed + program_number) * 1000 + t),
                                   comms, shared_from, first_tag + t * 100));
    }
    auto play = [&](int t) {
      try {
        players[static_cast<std::size_t>(t)]->play(phases);
      } catch (const Failure& failure) {
        std::fprintf(stderr, "p2p_fuzz: rank %d, seed %ld, thread %d: %s\n", rank,
                     seed + program_number, t, failure.what.c_str());
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    };
    if (threads == 1) {
      play(0);
    } else {
      std::vector<std::thread> running;
      for (int t = 0; t < threads; ++t) running.emplace_back(play, t);
      for (std::thread& thread : running) thread.join();
    }
    for (auto& player : players) {
      messages += player->messages();
      hash = hash * 31 + player->hash();
    }
    MPI_Comm_free(&passing);
  }
  std::uint64_t total_hash = 0;
  long total = 0;
  MPI_Reduce(&messages, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&hash, &total_hash, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("%ld programs, %ld messages, hash %016llx\n", programs, total,
                static_cast<unsigned long long>(total_hash));
  }
  void* detached;
  MPI_Buffer_detach(&detached, &buffer_bytes);
  for (auto& list : own) {
    for (MPI_Comm& comm : list) MPI_Comm_free(&comm);
  }
  MPI_Comm_free(&reversed);
  MPI_Finalize();
  return 0;
}
