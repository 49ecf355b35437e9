#include "p2p_plan.hpp"

namespace p2p {

MPI_Comm everyone = MPI_COMM_WORLD;
int rank, size, parents;

bool* Features::find(const std::string& name) {
  const std::map<std::string, bool Features::*> names{
      {"sendrecv", &Features::sendrecv},
      {"isendrecv", &Features::isendrecv},
      {"isendrecv_types", &Features::isendrecv_types},
      {"isendrecv_status", &Features::isendrecv_status},
      {"free_send", &Features::free_send},
      {"free_receive", &Features::free_receive},
      {"free_persistent", &Features::free_persistent},
      {"persistent_send", &Features::persistent_send},
      {"startall", &Features::startall},
      {"nobody", &Features::nobody},
      {"truncate", &Features::truncate},
      {"truncate_persistent", &Features::truncate_persistent},
      {"truncate_late", &Features::truncate_late},
      {"inter", &Features::inter},
      {"partitioned", &Features::partitioned},
      {"partitioned_mixed", &Features::partitioned_mixed},
      {"status_of_many", &Features::status_of_many},
      {"worlds", &Features::worlds},
      {"spawn", &Features::spawn},
      {"respawn", &Features::respawn},
      {"atexit", &Features::atexit},
      {"destructor", &Features::destructor},
      {"tls", &Features::tls},
      {"bare", &Features::bare},
      {"computing", &Features::computing},
  };
  const auto found = names.find(name);
  return found == names.end() ? nullptr : &(this->*found->second);
}

Communicator::Communicator(MPI_Comm comm) : handle(comm), rank_of(static_cast<std::size_t>(size)) {
  int inter = 0, members = 0;
  MPI_Comm_test_inter(comm, &inter);
  MPI_Comm_size(comm, &members);
  if (inter)
    reach = Reach::across;
  else if (members < size)
    reach = Reach::within;
  std::vector<int> all(static_cast<std::size_t>(size)), remote(all);
  for (int i = 0; i < size; ++i) all[static_cast<std::size_t>(i)] = i;
  MPI_Group group, world;
  MPI_Comm_group(everyone, &world);
  MPI_Comm_group(comm, &group);
  MPI_Group_translate_ranks(world, size, all.data(), group, rank_of.data());
  MPI_Group_free(&group);
  if (inter) {
    MPI_Comm_remote_group(comm, &group);
    MPI_Group_translate_ranks(world, size, all.data(), group, remote.data());
    MPI_Group_free(&group);
    for (std::size_t i = 0; i < remote.size(); ++i)
      if (rank_of[i] == MPI_UNDEFINED) rank_of[i] = remote[i];
  }
  MPI_Group_free(&world);
}

int Communicator::sender(int source) const {
  for (int w = 0; w < size; ++w)
    if (connects(w, rank) && rank_of[static_cast<std::size_t>(w)] == source) return w;
  return -1;
}

char byte_of(int id, int position) {
  return static_cast<char>(id * 131 + position * 7 + position / 256);
}

namespace {

int some_size(fuzz::Random& random) {
  static constexpr int sizes[] = {0,    1,    3,     8,     64,     100,   1000,
                                  4096, 8192, 16384, 65536, 131072, 262144};
  int base = random.chance(75) ? sizes[random.below(7)] : sizes[random.below(13)];
  int shifted = base + random.below(3) - 1;
  return shifted < 0 ? 0 : shifted;
}

}  // namespace

int Planner::sender_to(int to, int comm) {
  int from = random_.below(size);
  while (!comms_[static_cast<std::size_t>(comm)].connects(from, to)) from = (from + 1) % size;
  return from;
}

Phase Planner::make_phase() {
  Phase phase;
  phase.kind = random_.below(3);
  int count = random_.chance(20) ? 100 + random_.below(200) : 5 + random_.below(40);
  if (size > 2) count /= 2;
  int tags = 1 + random_.below(12);
  const int comms = static_cast<int>(comms_.size());
  std::vector<int> stream_source(static_cast<std::size_t>(size * comms));
  for (int to = 0; to < size; ++to) {
    for (int comm = 0; comm < comms; ++comm) {
      // Threads that share a communicator have tags of their own, so no wildcard tags there.
      int styles = comm >= shared_from_ ? 2 : 5;
      phase.styles[{to, comm}] = static_cast<Style>(random_.below(styles));
      phase.receiver_first[{to, comm}] = phase.kind == 1 || (phase.kind == 0 && random_.chance(50));
      stream_source[static_cast<std::size_t>(to * comms + comm)] = sender_to(to, comm);
    }
  }
  for (int i = 0; i < count; ++i) {
    Message m{};
    m.id = next_id_++;
    m.to = random_.below(size);
    m.comm = random_.below(comms);
    m.from = sender_to(m.to, m.comm);
    m.tag = tag_base_ + random_.below(tags);
    m.bytes = some_size(random_);
    Style style = phase.styles[{m.to, m.comm}];
    if (style == Style::stream) {
      m.from = stream_source[static_cast<std::size_t>(m.to * comms + m.comm)];
      m.tag = tag_base_;
    }
    bool receiver_first = phase.receiver_first[{m.to, m.comm}];
    int mode = random_.below(10);
    m.mode = mode < 5 ? SendMode::standard : mode < 8 ? SendMode::synchronous : SendMode::buffered;
    if (mode == 9 && phase.kind == 1) m.mode = SendMode::ready;
    if (m.mode == SendMode::buffered && m.bytes > 20000) m.mode = SendMode::standard;
    m.blocking = receiver_first && random_.chance(30);
    // A blocking send to oneself is safe too: the receive is posted before.
    phase.messages.push_back(m);
  }
  phase.distance = 1 + random_.below(size - 1);
  if (random_.chance(30)) {
    for (int& partitions : phase.partitions) partitions = 1 + random_.below(8);
    phase.partitioned = 1 + random_.below(random_.chance(20) ? 5000 : 100);
  }
  if (random_.chance(30)) phase.truncated = 2 + random_.below(12);
  phase.truncated_early = random_.chance(50);
  if (features.computing) {
    phase.collective = random_.below(kCollectives);
    phase.collective_count = 1 + random_.below(random_.chance(50) ? 100'000 : 1'000);
  }
  return phase;
}

}  // namespace p2p
