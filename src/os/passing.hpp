// An open file for other processes of this machine that cannot open it by the number of a
// descriptor, since process numbers mean others in their containers (SCM_RIGHTS, unix(7)).
#pragma once

#include <array>
#include <cstdint>

namespace hob::os {

/// Where a file is to be had. Plain bytes: processes send it to each other.
struct PassingAddress {
  /// Of a Unix socket, abstract: nothing is left behind, and it is found in one network namespace.
  std::array<char, 24> name{};
  /// What a taker says first. Other processes can see the name, but not this.
  std::array<std::uint8_t, 16> token{};
  bool listening = false;  ///< false: the system gave no socket
};

/// The process that has the file. Not thread safe.
class DescriptorGiver {
 public:
  DescriptorGiver();
  ~DescriptorGiver();
  DescriptorGiver(const DescriptorGiver&) = delete;
  DescriptorGiver& operator=(const DescriptorGiver&) = delete;

  const PassingAddress& address() const { return address_; }

  /// Gives `fd` to so many processes of this user, which have connected. Waits at most
  /// `patience_ms` (> 0) in all, and for no process alone: strangers that connect and say nothing
  /// delay no process. Returns how many have got it.
  int give(int fd, int takers, int patience_ms);

 private:
  PassingAddress address_;
  int socket_ = -1;
};

/// A process that wants the file. Not thread safe.
class DescriptorTaker {
 public:
  /// Connects, without waiting; whether it could, to a process of this user, says connected().
  explicit DescriptorTaker(const PassingAddress& address);
  ~DescriptorTaker();
  DescriptorTaker(const DescriptorTaker&) = delete;
  DescriptorTaker& operator=(const DescriptorTaker&) = delete;

  bool connected() const { return socket_ >= 0; }

  /// Waits at most `patience_ms` (> 0) for the file. Returns a descriptor to be closed, or -1.
  int take(int patience_ms);

 private:
  int socket_ = -1;
};

}  // namespace hob::os
