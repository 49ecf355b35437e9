#include "report/job_log.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace hob::report {
namespace {

/// Names are others': one with a line break would make a second line.
std::string plain(std::string_view text) {
  constexpr std::size_t kLongest = 128;
  std::string out;
  for (const char c : text.substr(0, kLongest)) {
    const bool kept =
        std::isalnum(static_cast<unsigned char>(c)) || std::strchr("._+-:[]", c) != nullptr;
    out += kept && c != '\0' ? c : '_';
  }
  return out;
}

std::string program_of(const RunContext& run) {
  if (run.command.empty()) return {};
  const std::string& path = run.command.front();
  return plain(std::string_view(path).substr(path.rfind('/') + 1));
}

constexpr double kSecond = 1e9;  // ns

/// Facility "user", severity "info" (RFC 3164).
constexpr int kPriority = 14;

}  // namespace

std::string job_line(const RunContext& run, const std::string& host, const Counters& sums) {
  std::uint64_t saved = 0;
  for (const auto* name : {"saved_ns", "batch_saved_ns", "match_saved_ns", "overlap_saved"})
    saved += sums[name];
  std::string line = fmt::format("hob={} uid={} host={}", run.version, ::getuid(), plain(host));
  if (!run.job.empty()) line += " job=" + plain(run.job);
  if (const std::string program = program_of(run); !program.empty()) line += " program=" + program;
  line += fmt::format(" ranks={} nodes={} mpi={} seconds={:.1f} saved_seconds={:.3f}", run.ranks,
                      run.nodes, run.abi, run.seconds, static_cast<double>(saved) / kSecond);
  return line;
}

std::string log_to_socket(const std::string& socket, const std::string& line) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof address.sun_path) return std::strerror(ENAMETOOLONG);
  std::copy(socket.begin(), socket.end(), address.sun_path);
  const int log = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (log < 0) return std::strerror(errno);
  const std::string message = fmt::format("<{}>hob[{}]: {}", kPriority, ::getpid(), line);
  const auto sent = ::sendto(log, message.data(), message.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const std::string error = sent < 0 ? std::strerror(errno) : "";
  ::close(log);
  return error;
}

std::string log_job(const std::string& where, const std::string& line) {
  if (where == "syslog") return log_to_socket("/dev/log", line);
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const int file = ::open(where.c_str(), kFlags, 0644);
  if (file < 0) return std::strerror(errno);
  struct stat there {};
  std::string error;
  if (::fstat(file, &there) != 0)
    error = std::strerror(errno);
  else if (!S_ISREG(there.st_mode))
    error = "it is no regular file";
  const std::string text = line + '\n';
  // In one call, since other jobs append as well; and never a part.
  if (error.empty() && ::write(file, text.data(), text.size()) < 0) error = std::strerror(errno);
  ::close(file);
  return error;
}

}  // namespace hob::report
