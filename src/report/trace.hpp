#pragma once

// Recorded gets: what a program asked of its windows, for `hob replay`. One file for each rank. A
// file is a header and then records of equal length, in the machine's byte order, so that a trace
// cut short (a program that was killed) is still readable up to its last whole record.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace hob::report {

enum class TraceKind : std::uint8_t {
  get = 0,          ///< target, displacement, size, layout, extent
  drop_all = 1,     ///< everything of the window became unknown (an acquire, a closed epoch)
  drop_target = 2,  ///< everything of `target` did
  drop_range = 3    ///< [displacement, displacement + size) of `target` did (an own write)
};

struct TraceRecord {
  TraceKind kind = TraceKind::get;
  std::uint8_t reserved = 0;
  std::uint16_t window = 0;        ///< number of the window on this rank
  std::uint32_t target = 0;        ///< rank in the window's group
  std::uint64_t displacement = 0;  ///< bytes
  std::uint64_t size = 0;          ///< bytes
  std::uint64_t layout = 0;        ///< 0: contiguous
  std::uint64_t extent = 0;        ///< bytes from the lowest to the highest one read; 0: size

  friend bool operator==(const TraceRecord&, const TraceRecord&) = default;
};
static_assert(sizeof(TraceRecord) == 40);

/// Writes a trace. Not thread safe. Nothing throws: after an error (disk full) add() does nothing
/// and ok() is false.
class TraceWriter {
 public:
  TraceWriter() = default;
  ~TraceWriter() { close(); }
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// Creates or truncates `path`. False if that is impossible (errno says why).
  bool open(const char* path, std::uint32_t rank, std::uint32_t ranks) noexcept;
  bool is_open() const { return file_ != nullptr; }
  bool ok() const { return ok_; }

  void add(const TraceRecord& record) noexcept;

  /// Writes what is buffered and closes. False if any record was lost.
  bool close() noexcept;

 private:
  std::FILE* file_ = nullptr;
  bool ok_ = true;
};

struct Trace {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::vector<TraceRecord> records;
};

/// Reads a whole trace. False, with a sentence in `error`, if the file cannot be read or is no
/// trace.
bool read_trace(const char* path, Trace& trace, std::string& error);

}  // namespace hob::report
