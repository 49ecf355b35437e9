#include "ghost/server.hpp"

#include <algorithm>

namespace hob::ghost {

Server::Server(Config config, Transport& transport) : config_(config), transport_(transport) {}
Server::~Server() = default;

Target* Server::target_at(std::uint64_t offset) const {
  if (offset % alignof(Target) != 0 || offset > config_.arena_bytes - sizeof(Target))
    return nullptr;
  return reinterpret_cast<Target*>(config_.arena + offset);
}

std::vector<std::byte> Server::buffer(std::size_t bytes) {
  std::vector<std::byte> result;
  if (!spare_.empty() && bytes <= kMessageBytes) {
    result = std::move(spare_.back());
    spare_.pop_back();
  }
  result.resize(bytes);
  return result;
}

// Only what must stay in order waits: operations behind a waiting one, and whatever follows data
// under way except further puts and gets, whose order MPI leaves open.
bool Server::may_start(Stream* stream, const Record& record) const {
  if (stream == nullptr) return true;
  if (!stream->waiting.empty()) return false;
  return stream->transfers.empty() || record.kind == Kind::put || record.kind == Kind::get;
}

bool Server::take_lock_now(const Record& record) {
  const bool after_fence = (record.flags & Record::after_fence) != 0;
  if (record.lock() == LockMode::none && !after_fence) return true;
  Target* target = target_at(record.target);
  if (target != nullptr && after_fence) return target->entered(record.fence);
  return target == nullptr || target->try_lock(record.lock());
}

bool Server::take_lock(Work& work, bool first) {
  const LockMode mode = work.record.lock();
  Target* target = target_at(work.record.target);
  if ((work.record.flags & Record::after_fence) != 0 && target != nullptr) {
    const bool entered = target->entered(work.record.fence);
    if (first && !entered) ++stats_.lock_waits;
    return entered;
  }
  if (mode == LockMode::none || target == nullptr) return true;
  if (target->try_lock(mode, work.tries++ < Target::kWritersFirstTries)) {
    if (work.counted) target->writers_waiting.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  if (first) ++stats_.lock_waits;
  if (mode == LockMode::exclusive && !work.counted) {
    target->writers_waiting.fetch_add(1, std::memory_order_relaxed);
    work.counted = true;
  }
  return false;
}

void Server::apply(const Record& record, const std::vector<Block>& blocks, const std::byte* data,
                   std::byte* result, std::size_t number, Answer& answer) {
  Target* target = target_at(record.target);
  bool good = target != nullptr;
  if (!record.has_result()) result = nullptr;
  if (good) {
    const Memory memory(*target);
    switch (record.kind) {
      case Kind::put:
        good = memory.put(blocks, data);
        break;
      case Kind::get:
        good = memory.get(blocks, result);
        break;
      case Kind::accumulate:
      case Kind::get_accumulate:
        good = memory.accumulate(blocks, record.carries_data() ? data : nullptr, result,
                                 {record.type, record.element}, record.operation, config_.combine);
        break;
      case Kind::compare_and_swap:
        good = memory.compare_and_swap(blocks[0].offset, data, data + record.bytes, result,
                                       static_cast<std::uint32_t>(record.bytes));
        break;
      case Kind::unlock:
        target->unlock(static_cast<LockMode>(record.operation));
        break;
      case Kind::shutdown:
        break;
    }
  }
  if (!good) answer.status |= failure_bit(number);
  if (record.kind != Kind::unlock && record.kind != Kind::shutdown) {
    ++stats_.operations;
    stats_.bytes += record.bytes;
    // Its origin has notified the target's owner to wait for it.
    if (answer.tag == 0 && target != nullptr)
      target->counted.fetch_add(1, std::memory_order_release);
  }
}

void Server::prefetch(const Record& record, std::span<const Block> blocks) const {
  if (record.kind == Kind::shutdown || record.kind == Kind::unlock || blocks.empty()) return;
  if (Target* const target = target_at(record.target)) Memory(*target).prefetch(blocks.front());
}

void Server::message(int origin, std::span<const std::byte> bytes) {
  ++stats_.messages;
  Reader reader(bytes.data(), bytes.size());
  Answer& answer = new_answer();
  answer.origin = origin;
  answer.tag = reader.header().tag;
  answer.remaining = reader.header().records + 1;  // one for this function
  Record record;
  const std::byte* data = nullptr;
  std::size_t results = sizeof(ReplyHeader);
  // Results lie in the order of the records, wherever each is computed: sizes come first. The
  // targets' memory is seldom in this core's caches: it is asked for all at once.
  for (Reader sizes(bytes.data(), bytes.size()); sizes.next(record, blocks_, data);) {
    prefetch(record, blocks_);
    if (record.has_result() && record.result_tag == 0) results += padded(record.bytes);
  }
  answer.buffer = buffer(results);
  results = sizeof(ReplyHeader);
  for (std::size_t number = 0; reader.next(record, blocks_, data); ++number) {
    const std::size_t at = results;
    if (record.has_result() && record.result_tag == 0) results += padded(record.bytes);
    run(origin, record, blocks_, data, answer, number, at);
  }
  complete(answer);
}

void Server::run(int origin, const Record& record, const std::vector<Block>& blocks,
                 const std::byte* data, Answer& answer, std::size_t number, std::size_t result_at) {
  if (record.kind == Kind::shutdown) {
    ++shutdowns_;
    complete(answer);
    return;
  }
  const Key key{origin, record.target};
  const auto found = streams_.empty() ? streams_.end() : streams_.find(key);
  Stream* stream = found == streams_.end() ? nullptr : &found->second;
  const bool small = record.data_tag == 0 && record.result_tag == 0;
  const bool free = may_start(stream, record);
  if (free && small && take_lock_now(record)) {
    apply(record, blocks, data, answer.buffer.data() + result_at, number, answer);
    complete(answer);
    return;
  }
  Work work{&answer, result_at, number, record, blocks, {}, 0, false};
  if (record.data_tag == 0 && record.carries_data()) {
    work.data.assign(data, data + record.data_bytes());
  }
  if (free && take_lock(work, true)) {
    start(key, std::move(work));
    return;
  }
  ++stats_.deferred;
  streams_[key].waiting.push_back(std::move(work));
}

// The lock is held (or none is needed) and nothing of this stream must come before.
void Server::start(const Key& key, Work work) {
  const Record& record = work.record;
  Target* target = target_at(record.target);
  if (record.data_tag != 0) {
    // A put of one run goes straight to its place; everything else is received first.
    ++stats_.transfers;
    std::byte* place = nullptr;
    if (target != nullptr && record.kind == Kind::put && work.blocks.size() == 1 &&
        Memory(*target).inside(work.blocks[0])) {
      place = Memory(*target).mapped();
    }
    if (place != nullptr) {
      place += work.blocks[0].offset;
    } else {
      work.data.resize(record.data_bytes());
      place = work.data.data();
    }
    Transfer transfer{std::move(work), 0, true};
    transfer.handle = transport_.receive(key.first, record.data_tag, place, record.data_bytes());
    streams_[key].transfers.push_back(std::move(transfer));
    return;
  }
  if (record.result_tag != 0 && record.kind == Kind::get && work.blocks.size() == 1 &&
      target != nullptr && Memory(*target).mapped() != nullptr &&
      Memory(*target).inside(work.blocks[0])) {
    ++stats_.transfers;
    ++stats_.operations;
    stats_.bytes += record.bytes;
    const std::byte* from = Memory(*target).mapped() + work.blocks[0].offset;
    complete(*work.answer);
    Transfer transfer{std::move(work), 0, false};
    transfer.handle = transport_.send(key.first, record.result_tag, from, record.bytes);
    streams_[key].transfers.push_back(std::move(transfer));
    return;
  }
  finish_inbound(key, work);
}

// All data are here: apply, and send off what is too large for the reply.
void Server::finish_inbound(const Key& key, Work& work) {
  const Record& record = work.record;
  if (record.result_tag != 0) {
    std::vector<std::byte> result(record.bytes);
    apply(record, work.blocks, work.data.data(), result.data(), work.number, *work.answer);
    send_result(key.first, record.result_tag, std::move(result));
  } else if (record.kind == Kind::put && work.data.empty() && record.data_tag != 0) {
    ++stats_.operations;
    stats_.bytes += record.bytes;
  } else {
    apply(record, work.blocks, work.data.data(), work.answer->buffer.data() + work.result_at,
          work.number, *work.answer);
  }
  complete(*work.answer);
}

void Server::send_result(int origin, std::uint32_t tag, std::vector<std::byte> result) {
  ++stats_.transfers;
  sends_.push_back({0, std::move(result)});
  Send& send = sends_.back();
  send.handle = transport_.send(origin, tag, send.buffer.data(), send.buffer.size());
}

Server::Answer& Server::new_answer() {
  if (free_answers_.empty()) {
    free_answers_.reserve(answers_.size() + 1);
    return answers_.emplace_back();
  }
  Answer& answer = *free_answers_.back();
  free_answers_.pop_back();
  answer.status = 0;
  return answer;
}

/// One record of a message is done. With the last one, the answer leaves, and is free for others.
void Server::complete(Answer& answer) {
  if (--answer.remaining != 0) return;
  free_answers_.push_back(&answer);  // new_answer() made room
  if (answer.tag == 0) return;
  const ReplyHeader header{answer.status,
                           static_cast<std::uint32_t>(answer.buffer.size() - sizeof(ReplyHeader))};
  std::memcpy(answer.buffer.data(), &header, sizeof header);
  sends_.push_back({0, std::move(answer.buffer)});
  Send& send = sends_.back();
  send.handle = transport_.send(answer.origin, answer.tag, send.buffer.data(), send.buffer.size());
}

bool Server::transferring() const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const auto& entry) { return !entry.second.transfers.empty(); });
}

bool Server::reclaim() {
  constexpr std::size_t most_spare = 64;
  bool moved = false;
  for (std::size_t i = 0; i < sends_.size();) {
    if (!transport_.done(sends_[i].handle)) {
      ++i;
      continue;
    }
    moved = true;
    if (spare_.size() < most_spare && sends_[i].buffer.capacity() <= kMessageBytes) {
      spare_.push_back(std::move(sends_[i].buffer));
    }
    std::swap(sends_[i], sends_.back());
    sends_.pop_back();
  }
  return moved;
}

bool Server::advance() {
  bool moved = reclaim();
  for (auto it = streams_.begin(); it != streams_.end();) {
    const Key key = it->first;
    Stream& stream = it->second;
    for (std::size_t i = 0; i < stream.transfers.size();) {
      if (!transport_.done(stream.transfers[i].handle)) {
        ++i;
        continue;
      }
      moved = true;
      Transfer transfer = std::move(stream.transfers[i]);
      stream.transfers.erase(stream.transfers.begin() + static_cast<std::ptrdiff_t>(i));
      if (transfer.inbound) finish_inbound(key, transfer.work);
    }
    while (!stream.waiting.empty()) {
      Work& next = stream.waiting.front();
      const bool ordered = stream.transfers.empty() || next.record.kind == Kind::put ||
                           next.record.kind == Kind::get;
      if (!ordered || !take_lock(next, false)) break;
      Work work = std::move(next);
      stream.waiting.pop_front();
      start(key, std::move(work));
      moved = true;
    }
    it = stream.idle() ? streams_.erase(it) : std::next(it);
  }
  return moved;
}

}  // namespace hob::ghost
