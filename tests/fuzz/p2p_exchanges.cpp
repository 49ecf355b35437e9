#include "p2p_exchanges.hpp"

#include <algorithm>
#include <string>

namespace p2p {

// ---- Partitioned.

#if P2P_HAS_MPI4

Partitioned::Partitioned(const Phase& phase, const Communicator& comm, int tag_base,
                         fuzz::Random& random, std::vector<Pending>& pending) {
  if (!phase.partitioned || !features.partitioned) return;
  used_ = true;
  const int sent = phase.partitions[0];
  parts_ = phase.partitions[1];
  bytes_ = phase.partitioned * sent * parts_;
  from_ = (rank + size - phase.distance % size) % size;
  const int to = (rank + phase.distance) % size, tag = tag_base + 60;
  for (int i = 0; i < bytes_; ++i) out_.push_back(byte_of(rank + 1, i));
  in_.assign(out_.size() + 1, 0x5a);
  Pending send, receive;
  send.persistent = receive.persistent = true;
  MPI_Precv_init(in_.data(), parts_, bytes_ / parts_, MPI_CHAR,
                 comm.rank_of[static_cast<std::size_t>(from_)], tag, comm.handle, MPI_INFO_NULL,
                 &receive.request);
  MPI_Psend_init(out_.data(), sent, bytes_ / sent, MPI_CHAR,
                 comm.rank_of[static_cast<std::size_t>(to)], tag, comm.handle, MPI_INFO_NULL,
                 &send.request);
  MPI_Request both[] = {send.request, receive.request};
  if (features.startall && random.chance(50)) {
    MPI_Startall(2, both);
  } else {
    MPI_Start(&both[0]);
    MPI_Start(&both[1]);
  }
  std::vector<int> order;
  for (int i = 0; i < sent; ++i) order.push_back(i);
  switch (random.below(3)) {
    case 0:
      MPI_Pready_range(0, sent - 1, send.request);
      break;
    case 1:
      random.shuffle(order);
      MPI_Pready_list(sent, order.data(), send.request);
      break;
    default:
      random.shuffle(order);
      for (int i : order) MPI_Pready(i, send.request);
      break;
  }
  receive_ = receive.request;
  if (features.partitioned_mixed) {
    pending.push_back(send);
    pending.push_back(receive);
  } else {
    alone_ = {receive.request, send.request};
  }
}

void Partitioned::look(fuzz::Random& random) {
  if (!used_ || !random.chance(50)) return;
  for (int looks = random.below(parts_ + 1); looks > 0; --looks) {
    const int part = random.below(parts_);
    int flag = 0;
    while (!flag) MPI_Parrived(receive_, part, &flag);
    const int first = part * (bytes_ / parts_);
    for (int i = first; i < first + bytes_ / parts_; ++i)
      if (in_[static_cast<std::size_t>(i)] != byte_of(from_ + 1, i))
        throw Failure{"a part that has arrived has wrong content"};
  }
}

#else

Partitioned::Partitioned(const Phase&, const Communicator&, int, fuzz::Random&,
                         std::vector<Pending>&) {}
void Partitioned::look(fuzz::Random&) {}

#endif

void Partitioned::check() {
  if (!used_) return;
  for (MPI_Request& request : alone_) {
    // MPICH does not initialise what it tells of errors here.
    static_cast<void>(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Request_free(&request);
  }
  for (int i = 0; i < bytes_; ++i)
    if (in_[static_cast<std::size_t>(i)] != byte_of(from_ + 1, i))
      throw Failure{"a partitioned receive has wrong content"};
  if (in_.back() != 0x5a) throw Failure{"a partitioned receive wrote outside"};
}

// ---- Truncated.

namespace {

struct Short {
  int bytes, capacity;
  std::vector<char> out, in;
  MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  bool persistent = false, complete = false;
};

bool is_truncation(int error) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(error, &error_class);
  return error_class == MPI_ERR_TRUNCATE;
}

class Exchange {
 public:
  Exchange(const Phase& phase, const Communicator& comm, int tag_base, fuzz::Random& random)
      : random_(random),
        comm_(comm.handle),
        tag_(tag_base + 70),
        early_(phase.truncated_early || !features.truncate_late) {
    const int from = (rank + size - phase.distance % size) % size;
    const int to = (rank + phase.distance) % size;
    from_ = comm.rank_of[static_cast<std::size_t>(from)];
    to_ = comm.rank_of[static_cast<std::size_t>(to)];
    fuzz::Random sizes(static_cast<std::uint64_t>(phase.truncated) * 77 +
                       static_cast<std::uint64_t>(phase.distance));
    for (int i = 0; i < phase.truncated; ++i) {
      Short one{};
      one.bytes = sizes.below(sizes.chance(70) ? 200 : most);
      one.capacity = sizes.chance(40) ? sizes.below(one.bytes) : one.bytes + sizes.below(10);
      for (int b = 0; b < one.bytes; ++b) one.out.push_back(byte_of(to * 100 + i, b));
      one.in.assign(static_cast<std::size_t>(one.capacity) + 64, 0x5a);
      all_.push_back(one);
    }
    me_ = rank;
  }

  void run() {
    if (early_)
      for (int i = 0; i < count(); ++i) post(i);
    MPI_Barrier(comm_);
    for (int i = 0; i < count(); ++i)
      MPI_Isend(at(i).out.data(), at(i).bytes, MPI_CHAR, to_, tag_ + i, comm_, &at(i).send);
    if (!early_) {
      MPI_Barrier(comm_);
      for (int i = 0; i < count(); ++i) take(i);
    }
    complete();
    for (int i = 0; i < count(); ++i) {
      must(MPI_Wait(&at(i).send, MPI_STATUS_IGNORE), "MPI_Wait of a send that is too long");
      if (at(i).persistent) MPI_Request_free(&at(i).receive);
      if (at(i).receive != MPI_REQUEST_NULL)
        throw Failure{"the request of a receive that is too short is not null"};
      check(i);
    }
    MPI_Barrier(comm_);
  }

 private:
#ifdef OPEN_MPI
  static constexpr int most = 1000;  // Open MPI 4 and 5 write longer ones past the receive's buffer
#else
  static constexpr int most = 100000;
#endif

  int count() const { return static_cast<int>(all_.size()); }
  Short& at(int i) { return all_[static_cast<std::size_t>(i)]; }

  void post(int i) {
    Short& one = at(i);
    one.persistent = features.truncate_persistent && random_.chance(30);
    if (one.persistent) {
      MPI_Recv_init(one.in.data(), one.capacity, MPI_CHAR, from_, tag_ + i, comm_, &one.receive);
      MPI_Start(&one.receive);
    } else {
      MPI_Irecv(one.in.data(), one.capacity, MPI_CHAR, random_.chance(50) ? from_ : MPI_ANY_SOURCE,
                tag_ + i, comm_, &one.receive);
    }
  }

  void take(int i) {
    if (!random_.chance(40)) return post(i);
    finished(i, MPI_Recv(at(i).in.data(), at(i).capacity, MPI_CHAR, from_, tag_ + i, comm_,
                         MPI_STATUS_IGNORE));
  }

  void finished(int i, int error) {
    Short& one = at(i);
    one.complete = true;
    const bool fits = one.bytes <= one.capacity;
    if (fits ? error != MPI_SUCCESS : !is_truncation(error))
      throw Failure{"a message of " + std::to_string(one.bytes) + " bytes for a receive of " +
                    std::to_string(one.capacity) + " has the error " + std::to_string(error) +
                    " by way " + std::to_string(way_) + (one.persistent ? ", persistent" : "") +
                    (early_ ? ", early" : ", late")};
  }

  void complete() {
    way_ = random_.below(5);
#ifdef OPEN_MPI
    if (way_ == 2) way_ = 1;  // its MPI_Waitany frees other requests that have errors, too
#endif
    std::vector<MPI_Request> requests;
    std::vector<MPI_Status> statuses(all_.size());
    std::vector<int> indices(all_.size());
    for (const Short& one : all_) requests.push_back(one.complete ? MPI_REQUEST_NULL : one.receive);
    int left = 0, done = 0, index = 0, error = MPI_SUCCESS;
    for (MPI_Request request : requests) left += request != MPI_REQUEST_NULL;
    while (left > 0) {
      switch (way_) {
        case 0:
          error = MPI_Waitall(count(), requests.data(), statuses.data());
          for (int i = 0; i < count(); ++i) left -= heard(i, error, statuses[index_of(i)]);
          break;
        case 1:
          error = MPI_Waitsome(count(), requests.data(), &done, indices.data(), statuses.data());
          for (int k = 0; k < done; ++k)
            left -= heard(indices[index_of(k)], error, statuses[index_of(k)]);
          break;
        case 2:
          error = MPI_Waitany(count(), requests.data(), &index, MPI_STATUS_IGNORE);
          finished(index, error);
          --left;
          break;
        default:
          for (int i = 0; i < count(); ++i) {
            if (at(i).complete) continue;
            int flag = way_ == 3;
            do {
              error = way_ == 3 ? MPI_Wait(&requests[index_of(i)], MPI_STATUS_IGNORE)
                                : MPI_Test(&requests[index_of(i)], &flag, MPI_STATUS_IGNORE);
            } while (!flag && error == MPI_SUCCESS);
            finished(i, error);
            --left;
          }
          break;
      }
    }
    for (int i = 0; i < count(); ++i) at(i).receive = requests[index_of(i)];
  }

  static std::size_t index_of(int i) { return static_cast<std::size_t>(i); }

  /// One of many requests, whose own error is in its status. Whether it is complete.
  bool heard(int i, int error, const MPI_Status& status) {
    if (at(i).complete) return false;
    const bool in_status = error != MPI_SUCCESS;
    if (in_status && status.MPI_ERROR == MPI_ERR_PENDING) return false;
    finished(i, in_status ? status.MPI_ERROR : MPI_SUCCESS);
    return true;
  }

  void check(int i) {
    const Short& one = at(i);
    const bool fits = one.bytes <= one.capacity;
    for (int b = 0; fits && b < one.bytes; ++b)
      if (one.in[static_cast<std::size_t>(b)] != byte_of(me_ * 100 + i, b))
        throw Failure{"a message among truncated ones has wrong content"};
    const int end = fits ? one.bytes : one.capacity;
    for (std::size_t b = static_cast<std::size_t>(end); b < one.in.size(); ++b)
      if (one.in[b] != 0x5a) throw Failure{"a truncated message was written outside"};
  }

  fuzz::Random& random_;
  MPI_Comm comm_;
  int tag_, from_, to_, me_ = 0, way_ = 0;
  bool early_;
  std::vector<Short> all_;
};

}  // namespace

void exchange_truncated(const Phase& phase, const Communicator& comm, int tag_base,
                        fuzz::Random& random) {
  Exchange(phase, comm, tag_base, random).run();
}

}  // namespace p2p
