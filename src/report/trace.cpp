#include "report/trace.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "os/own_descriptor.hpp"

namespace hob::report {
namespace {

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t record_bytes;
  std::uint32_t rank;
  std::uint32_t ranks;
};
constexpr char kMagic[8] = {'H', 'O', 'B', 'T', 'R', 'A', 'C', 'E'};
constexpr std::uint32_t kVersion = 1;

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// The stream writes when its buffer is full, and when the process exits: the program may have
// closed the file by then, and have another one under its number.
ssize_t write_own(void* file, const char* bytes, std::size_t size) {
  const int fd = static_cast<const os::OwnDescriptor*>(file)->get();
  if (fd < 0) errno = EBADF;
  std::size_t written = 0;
  while (fd >= 0 && written < size) {
    const ssize_t now = ::write(fd, bytes + written, size - written);
    if (now < 0 && errno != EINTR) break;
    if (now > 0) written += static_cast<std::size_t>(now);
  }
  return static_cast<ssize_t>(written);
}

int close_own(void* file) {
  const std::unique_ptr<os::OwnDescriptor> own(static_cast<os::OwnDescriptor*>(file));
  const bool lost = own->get() < 0;
  if (lost) errno = EBADF;
  return lost ? -1 : 0;
}

/// An empty regular file of this user's: neither what a link names, nor a file of another user's.
std::FILE* open_own(const char* path) {
  const int file =
      ::open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666);
  if (file < 0) return nullptr;
  struct stat about {};
  const bool own =
      ::fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == ::geteuid();
  if (!own) errno = EPERM;
  std::FILE* stream = nullptr;
  if (auto* kept =
          own && ::ftruncate(file, 0) == 0 ? new (std::nothrow) os::OwnDescriptor(file) : nullptr) {
    stream = ::fopencookie(
        kept, "w", {.read = nullptr, .write = write_own, .seek = nullptr, .close = close_own});
    if (stream != nullptr) return stream;
    delete kept;
    return nullptr;
  }
  const int error = errno;
  ::close(file);
  errno = error;
  return nullptr;
}

}  // namespace

bool TraceWriter::open(const char* path, std::uint32_t rank, std::uint32_t ranks) noexcept {
  close();
  file_ = open_own(path);
  if (file_ == nullptr) return ok_ = false;
  std::setvbuf(file_, nullptr, _IOFBF, 1 << 18);
  Header header{{}, kVersion, sizeof(TraceRecord), rank, ranks};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  return ok_ = std::fwrite(&header, sizeof header, 1, file_) == 1;
}

void TraceWriter::add(const TraceRecord& record) noexcept {
  if (file_ != nullptr && ok_) ok_ = std::fwrite(&record, sizeof record, 1, file_) == 1;
}

bool TraceWriter::close() noexcept {
  if (file_ != nullptr && std::fclose(file_) != 0) ok_ = false;
  file_ = nullptr;
  return ok_;
}

bool read_trace(const char* path, Trace& trace, std::string& error) {
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(path, "rbe"));
  if (file == nullptr) {
    error = std::string(path) + ": " + std::strerror(errno);
    return false;
  }
  Header header{};
  if (std::fread(&header, sizeof header, 1, file.get()) != 1 ||
      std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    error = std::string(path) + ": not a trace written by Hob";
    return false;
  }
  if (header.version != kVersion || header.record_bytes != sizeof(TraceRecord)) {
    error = std::string(path) + ": written by another version of Hob (trace format " +
            std::to_string(header.version) + ", this is " + std::to_string(kVersion) + ")";
    return false;
  }
  trace.rank = header.rank;
  trace.ranks = header.ranks;
  trace.records.clear();
  TraceRecord record;
  while (std::fread(&record, sizeof record, 1, file.get()) == 1) trace.records.push_back(record);
  return true;
}

}  // namespace hob::report
