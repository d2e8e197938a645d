// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// A unix socket in front of a server: its file, and who may call.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/socket_file.h"
#include "node/transport/connection_acceptor.h"
#include "node/transport/listeners.h"
#include "node/transport/port_dial.h"
#include "tests/node/wait_until.h"

namespace ruvd::transport {
namespace {

namespace fs = std::filesystem;
using test::WaitUntil;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uid_t kOther = 65534;
constexpr ConnectionLimits kLimits = {.connections = 4,
                                      .unproven = 4,
                                      .unproven_of_source = 4,
                                      .unproven_life = std::chrono::milliseconds(1),
                                      .unproven_bytes = 1,
                                      .unproven_buffer = 1 << 16,
                                      .opened_per_second = 1000,
                                      .opened_burst = 1000};

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

class UnixSocketTest : public ::testing::Test {
 protected:
  UnixSocketTest() {
    // A short path, wherever the tests keep their files.
    std::string name = (fs::temp_directory_path() / "ruvd-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ / "s";
  }
  ~UnixSocketTest() override {
    acceptor_.reset();
    fs::remove_all(folder_);
  }
  void Listen() {
    auto acceptor = ConnectionAcceptor::Listen("unix:" + path_, kLimits, SystemClock());
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
    EXPECT_EQ(acceptor_->address(), "unix:" + path_);
    acceptor_->OnForeignUser([this](uid_t user) { foreigner_ = user; });
    acceptor_->Start([this](int, int socket) {
      const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
      ::send(socket, settings.data(), settings.size(), MSG_NOSIGNAL);
      const MutexLock lock(mutex_);
      served_.emplace_back(socket);
    });
  }
  Descriptor Connect() const {
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un to = AddressOf(path_);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    return socket;
  }
  // Whether the other end has closed the connection.
  static bool IsEnded(const Descriptor& socket) {
    char byte = 0;
    ssize_t read = 1;
    while (read > 0) {
      read = ::recv(socket.get(), &byte, 1, MSG_DONTWAIT);
    }
    return read == 0;
  }
  DialResult Dial() {
    return DialOwnPort(*acceptor_, PortProtocol::kHttp2, std::chrono::minutes(3), nullptr);
  }
  uint64_t Ended(ConnectionEnd why) { return acceptor_->counts().ended[static_cast<size_t>(why)]; }

  fs::path folder_;
  std::string path_;
  std::unique_ptr<ConnectionAcceptor> acceptor_;
  std::atomic<uid_t> foreigner_ = 0;
  Mutex mutex_;
  std::vector<Descriptor> served_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(UnixSocketTest, ItsFileIsForTheOwnUserOnlyAndGoesWithIt) {
  Listen();
  struct stat file{};
  ASSERT_EQ(::lstat(path_.c_str(), &file), 0);
  EXPECT_TRUE(S_ISSOCK(file.st_mode));
  EXPECT_EQ(file.st_mode & 07777, 0600u);
  acceptor_->Stop();
  EXPECT_FALSE(fs::exists(path_));
  acceptor_->Stop();
}

TEST_F(UnixSocketTest, AFileThatTookItsPlaceStays) {
  Listen();
  fs::remove(path_);
  std::ofstream(path_) << "mine";
  acceptor_->Stop();
  EXPECT_TRUE(fs::is_regular_file(path_));
}

TEST_F(UnixSocketTest, WhatADeadProcessLeftIsReplaced) {
  {
    const Descriptor dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un at = AddressOf(path_);
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    ASSERT_EQ(::listen(dead.get(), 1), 0);
  }
  ASSERT_TRUE(fs::is_socket(path_));
  Listen();
  Connect();
  EXPECT_TRUE(WaitUntil([&] { return acceptor_->counts().accepted == 1; }));
}

TEST_F(UnixSocketTest, WhatALiveProcessHasStays) {
  Listen();
  const absl::Status second = ListenOnUnix(path_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second));
  EXPECT_EQ(ReasonOf(second), reasons::kConfigInvalid);
  EXPECT_THAT(MessageOf(second),
              AllOf(HasSubstr(path_), HasSubstr("another process"), HasSubstr("api.socket")));
  Connect();
  EXPECT_TRUE(WaitUntil([&] { return acceptor_->counts().accepted >= 1; }));
}

// Regression test: a node took the file of one that had bound it and did not listen yet.
TEST_F(UnixSocketTest, ASocketThatIsAboutToListenStays) {
  const Descriptor lock(::open((path_ + ".lock").c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);  // as a node has it
  const Descriptor starting(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un at = AddressOf(path_);
  ASSERT_EQ(::bind(starting.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  const absl::Status second = ListenOnUnix(path_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second));
  EXPECT_THAT(MessageOf(second), HasSubstr("another process"));
  ASSERT_EQ(::listen(starting.get(), 1), 0);
  Connect();
}

// Regression test: each of these was called the socket of another process, which the reader should
// stop, and kept a node from starting without its socket.
TEST_F(UnixSocketTest, WhatCannotBeTriedIsSaidAndStays) {
  const Descriptor other(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const sockaddr_un at = AddressOf(path_);
  ASSERT_EQ(::bind(other.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  const absl::Status of_other_type = ListenOnUnix(path_).status();
  EXPECT_TRUE(absl::IsUnavailable(of_other_type));
  EXPECT_THAT(MessageOf(of_other_type), AllOf(HasSubstr(path_), HasSubstr("wrong type")));
  EXPECT_TRUE(fs::is_socket(path_));
}

TEST_F(UnixSocketTest, AFileThatIsNoSocketIsNeverDeleted) {
  std::ofstream(path_) << "precious";
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = ListenOnUnix(path_).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status));
    EXPECT_THAT(MessageOf(status), AllOf(HasSubstr(path_), HasSubstr("no socket lies there"),
                                         HasSubstr("move it away")));
    EXPECT_EQ(fs::file_size(path_), 8u);
    fs::remove(path_);
    fs::create_symlink(folder_ / "elsewhere", path_);
    std::ofstream(folder_ / "elsewhere") << "precious";
  }
  EXPECT_TRUE(fs::is_symlink(path_));
}

TEST_F(UnixSocketTest, APathThatIsTooLongOrCannotBeBoundIsRefused) {
  const std::string base = (folder_ / "").string();
  const auto path_of = [&](size_t bytes) { return base + std::string(bytes - base.size(), 'x'); };
  EXPECT_TRUE(ListenOnUnix(path_of(node::kMaxSocketPath)).ok());
  const absl::Status longer = ListenOnUnix(path_of(node::kMaxSocketPath + 1)).status();
  EXPECT_TRUE(absl::IsUnavailable(longer));
  EXPECT_THAT(MessageOf(longer),
              AllOf(HasSubstr("108 bytes"), HasSubstr("107"), HasSubstr("a shorter one")));
  const absl::Status nowhere = ListenOnUnix(folder_ / "no" / "such" / "folder").status();
  EXPECT_TRUE(absl::IsUnavailable(nowhere));
  EXPECT_EQ(ReasonOf(nowhere), reasons::kConfigInvalid);
}

TEST_F(UnixSocketTest, AUserProvesItselfAndOnlyTheNumberIsLimited) {
  Listen();
  std::vector<Descriptor> clients;
  for (size_t i = 0; i < kLimits.connections; ++i) {
    clients.push_back(Connect());
  }
  ASSERT_TRUE(WaitUntil([&] { return acceptor_->counts().accepted == kLimits.connections; }));
  EXPECT_EQ(acceptor_->counts().unproven, 0u);
  const Descriptor more = Connect();
  EXPECT_TRUE(WaitUntil([&] { return Ended(ConnectionEnd::kPortFull) == 1; }));
  EXPECT_TRUE(WaitUntil([&] { return IsEnded(more); }));
  for (const Descriptor& client : clients) {
    EXPECT_FALSE(IsEnded(client));
  }
  clients.clear();
  EXPECT_TRUE(WaitUntil([&] { return acceptor_->counts().connections == 0; }));
  const Descriptor later = Connect();
  EXPECT_TRUE(WaitUntil([&] { return acceptor_->counts().connections == 1; }));
}

TEST_F(UnixSocketTest, AnotherUserIsEndedAndCounted) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can become another user";
  }
  Listen();
  // The mode of the file would already keep the other user away.
  fs::permissions(folder_, fs::perms::all);
  fs::permissions(path_, fs::perms::all);
  const sockaddr_un to = AddressOf(path_);
  const pid_t child = ::fork();
  if (child == 0) {  // only calls that are safe between fork and exec
    char byte = 0;
    const int socket = ::setuid(kOther) == 0 ? ::socket(AF_UNIX, SOCK_STREAM, 0) : -1;
    const bool connected =
        ::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    const bool ended = connected && ::recv(socket, &byte, 1, 0) <= 0;
    ::_exit(ended ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "it connected and was ended without a byte";
  EXPECT_TRUE(WaitUntil([&] { return Ended(ConnectionEnd::kForeignUser) == 1; }));
  EXPECT_EQ(foreigner_, kOther);
  EXPECT_EQ(acceptor_->counts().accepted, 0u);
  const Descriptor own = Connect();
  EXPECT_TRUE(WaitUntil([&] { return acceptor_->counts().accepted == 1; }));
}

TEST_F(UnixSocketTest, TheNodeDialsItAsItDialsPorts) {
  Listen();
  constexpr auto kLong = std::chrono::minutes(3);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(DialOwnPort(*acceptor_, PortProtocol::kHttp2, kLong, nullptr).sign, PortSign::kAlive);
  }
  EXPECT_EQ(acceptor_->counts().arrived, 0u);
  fs::remove(path_);
  EXPECT_EQ(DialOwnPort(*acceptor_, PortProtocol::kHttp2, kLong, nullptr).sign, PortSign::kGone);
}

// Regression test: only a file that was gone did not end the node after some dials.
TEST_F(UnixSocketTest, AFileThatLeadsElsewhereEndsNoNode) {
  Listen();
  fs::rename(path_, folder_ / "own");
  {
    const Descriptor dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un at = AddressOf(path_);
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  }
  EXPECT_EQ(Dial().sign, PortSign::kGone) << "connections are refused";
  fs::remove(path_);
  fs::create_symlink(path_, path_);
  EXPECT_EQ(Dial().sign, PortSign::kGone) << "it cannot be followed";
}

// Regression test: the answer of another node at the path was taken for one's own.
TEST_F(UnixSocketTest, AnotherListenerInItsPlaceIsNoSignOfLife) {
  Listen();
  fs::remove(path_);
  const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
  const Descriptor other(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un at = AddressOf(path_);
  ASSERT_EQ(::bind(other.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(other.get(), 1), 0);
  std::thread server([&] {
    const Descriptor caller(::accept(other.get(), nullptr, nullptr));
    ::send(caller.get(), settings.data(), settings.size(), MSG_NOSIGNAL);
    char byte = 0;
    while (::recv(caller.get(), &byte, 1, 0) > 0) {
    }
  });
  const DialResult result = Dial();
  server.join();
  EXPECT_EQ(result.sign, PortSign::kGone);
  EXPECT_THAT(result.detail, HasSubstr("another process"));
  acceptor_->Stop();
  EXPECT_TRUE(fs::is_socket(path_)) << "it is not the node's to remove";
}

TEST_F(UnixSocketTest, AnotherProcessInItsPlaceThatAnswersNothingIsNoSilence) {
  Listen();
  fs::remove(path_);
  int ready[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const sockaddr_un at = AddressOf(path_);
  const pid_t child = ::fork();
  if (child == 0) {  // only calls that are safe between fork and exec
    const int other = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const bool listens = ::bind(other, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
                         ::listen(other, 1) == 0;
    const char byte = listens ? 1 : 0;
    while (::write(ready[1], &byte, 1) == 1) {
      ::pause();
    }
    ::_exit(1);
  }
  const Descriptor from(ready[0]);
  ::close(ready[1]);
  char byte = 0;
  EXPECT_EQ(::read(from.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 1);
  EXPECT_EQ(
      DialOwnPort(*acceptor_, PortProtocol::kHttp2, std::chrono::milliseconds(100), nullptr).sign,
      PortSign::kGone);
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(UnixSocketTest, ServedCallersAreASignOfLife) {
  Listen();
  const Descriptor caller = Connect();
  ASSERT_TRUE(WaitUntil([&] { return acceptor_->counts().accepted == 1; }));
  EXPECT_EQ(acceptor_->counts().proven, 1u);
}

}  // namespace
}  // namespace ruvd::transport
