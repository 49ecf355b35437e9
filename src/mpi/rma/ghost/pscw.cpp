#include "mpi/rma/ghost/pscw.hpp"

#include <algorithm>

#include "mpi/core/members.hpp"
#include "mpi/rma/ghost/client.hpp"

namespace hob::mpi {

void PscwEpochs::open(Epoch& epoch, MPI_Group group, int assertion) {
  epoch.open = true;
  epoch.unchecked = (assertion & MPI_MODE_NOCHECK) != 0;
  epoch.peers.clear();
  for (const int rank : members_in(ghost_client->world.internal_group, group))
    epoch.peers.push_back({.rank = rank, .notified = epoch.unchecked});
}

// Whether the process's message has come. It is taken once, by whichever thread asks first.
bool PscwEpochs::notified(Peer& peer, Kind kind) {
  if (!peer.notified)
    peer.notified = ghost_client->messages.take(window_, kind, peer.rank, expected_);
  return peer.notified;
}

bool PscwEpochs::all_notified(Epoch& epoch, Kind kind) {
  bool all = true;
  for (Peer& each : epoch.peers) all = notified(each, kind) && all;
  return all;
}

void PscwEpochs::start(MPI_Group group, int assertion) { open(access_, group, assertion); }

void PscwEpochs::wait_for_post(int rank) {
  const auto peer = std::find_if(access_.peers.begin(), access_.peers.end(),
                                 [&](const Peer& each) { return each.rank == rank; });
  if (peer == access_.peers.end() || peer->notified) return;
  ghost_client->wait_for_messages([&] { return notified(*peer, Kind::post); });
}

void PscwEpochs::count(int rank, std::uint32_t operations) {
  for (Peer& each : access_.peers)
    if (each.rank == rank) each.operations = operations;
}

void PscwEpochs::complete() {
  // A target learns only of epochs that it has opened.
  ghost_client->wait_for_messages([&] { return all_notified(access_, Kind::post); });
  for (const Peer& each : access_.peers)
    ghost_client->messages.send(window_, Kind::complete, each.rank, each.operations);
  access_.open = false;
}

void PscwEpochs::post(MPI_Group group, int assertion) {
  open(exposure_, group, assertion);
  for (Peer& each : exposure_.peers) {
    each.notified = false;  // completes are always sent
    if (!exposure_.unchecked) ghost_client->messages.send(window_, Kind::post, each.rank);
  }
}

// Whether all origins have said that they are done, and the ghosts have applied the operations that
// they announced.
bool PscwEpochs::ended(const ghost::Target& own) {
  return all_notified(exposure_, Kind::complete) && own.applied(expected_);
}

void PscwEpochs::wait(const ghost::Target& own) {
  ghost_client->wait_for_messages([&] { return ended(own); });
  exposure_.open = false;
}

bool PscwEpochs::test(const ghost::Target& own) {
  ghost_client->messages.receive();
  ghost_client->origin.progress();
  if (!ended(own)) return false;
  exposure_.open = false;
  return true;
}

}  // namespace hob::mpi
