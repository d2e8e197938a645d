// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/port_dial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "tests/node/deaf_port.h"
#include "tests/node/wait_until.h"

namespace ruvd::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr ConnectionLimits kLimits = {.connections = 32,
                                      .unproven = 16,
                                      .unproven_of_source = 8,
                                      .unproven_life = seconds(60),
                                      .unproven_bytes = 10'000,
                                      .unproven_buffer = 1 << 16,
                                      .opened_per_second = 100,
                                      .opened_burst = 100};
// For dials that are served, however busy the machine is, and for dials that nothing answers.
constexpr milliseconds kLong = minutes(3);
constexpr milliseconds kShort(300);
// An empty SETTINGS frame; the head of a TLS handshake record.
const std::string kSettings("\0\0\0\4\0\0\0\0\0", 9);
const std::string kTlsHandshake("\x16\3\3\0\4\2\0\0\0", 9);

// A port whose server does with each connection what the test says.
class PortDialTest : public ::testing::Test {
 protected:
  ~PortDialTest() override {
    if (acceptor_ != nullptr) {
      acceptor_->Stop();
    }
  }
  using Serve = std::function<void(Descriptor socket)>;
  void Listen(Serve serve, const ConnectionLimits& limits = kLimits,
              const std::string& address = "127.0.0.1:0") {
    auto acceptor = ConnectionAcceptor::Listen(address, limits, SystemClock());
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
    acceptor_->Start([serve = std::move(serve)](int, int socket) { serve(Descriptor(socket)); });
  }
  // Sends something and keeps the connection.
  Serve Answering(std::string bytes) {
    return [this, bytes = std::move(bytes)](Descriptor socket) {
      ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      Keep(std::move(socket));
    };
  }
  void Keep(Descriptor socket) {
    const MutexLock lock(mutex_);
    kept_.push_back(std::move(socket));
  }
  DialResult DialPort(milliseconds patience, PortProtocol protocol = PortProtocol::kHttp2) {
    return DialOwnPort(*acceptor_, protocol, patience, nullptr);
  }
  Descriptor Connect() const {
    const sockaddr_storage to = acceptor_->local_address();
    Descriptor socket(::socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(sockaddr_in));
    return socket;
  }

  std::unique_ptr<ConnectionAcceptor> acceptor_;
  Mutex mutex_;
  std::vector<Descriptor> kept_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(PortDialTest, APortThatAnswersIsAliveAndCountsNothing) {
  Listen(Answering(kSettings));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(DialPort(kLong).sign, PortSign::kAlive);
  }
  const ConnectionAcceptor::Counts counts = acceptor_->counts();
  EXPECT_EQ(counts.accepted, 0u);
  EXPECT_EQ(counts.connections, 0u);
  EXPECT_EQ(counts.arrived, 0u);
  EXPECT_THAT(counts.ended, ::testing::Each(0u));
}

TEST_F(PortDialTest, APortOnAllAddressesIsDialledOnLoopback) {
  for (const char* address : {"0.0.0.0:0", "[::]:0", "localhost:0"}) {
    Listen(Answering(kSettings), kLimits, address);
    EXPECT_EQ(DialPort(kLong).sign, PortSign::kAlive) << address;
    acceptor_->Stop();
  }
}

TEST_F(PortDialTest, ATlsPortAnswersTheHelloOfAClient) {
  std::atomic<int> first = 0;
  Listen([&](Descriptor socket) {
    unsigned char type = 0;
    test::WaitUntil([&] { return ::recv(socket.get(), &type, 1, MSG_DONTWAIT) == 1; });
    first = type;
    Answering(kTlsHandshake)(std::move(socket));
  });
  EXPECT_EQ(DialPort(kLong, PortProtocol::kTls).sign, PortSign::kAlive);
  EXPECT_EQ(first, 22) << "a handshake record";
}

TEST_F(PortDialTest, NoLimitRefusesTheDial) {
  ConnectionLimits none = kLimits;
  none.connections = none.unproven = none.unproven_of_source = 1;
  none.opened_burst = none.opened_per_second = 1e-9;
  Listen(Answering(kSettings), none);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(DialPort(kLong).sign, PortSign::kAlive);
  }
}

TEST_F(PortDialTest, AnAcceptLoopThatStandsStillIsSilent) {
  Listen(Answering(kSettings));
  ASSERT_EQ(DialPort(kLong).sign, PortSign::kAlive);
  ASSERT_TRUE(test::MakeDeaf(acceptor_->address()));
  const DialResult result = DialPort(kShort);
  EXPECT_EQ(result.sign, PortSign::kSilent);
  EXPECT_THAT(result.detail, HasSubstr("was not accepted"));
}

TEST_F(PortDialTest, APortThatRefusesConnectionsIsSilent) {
  Listen(Answering(kSettings));
  acceptor_->Stop();
  const DialResult result = DialPort(kShort);
  EXPECT_EQ(result.sign, PortSign::kSilent);
  EXPECT_THAT(result.detail, HasSubstr("a connection failed"));
}

// Regression test: such a node was ended as deaf, and after its restart again, for ever, though its
// peers were linked to it.
TEST_F(PortDialTest, ADialThatAPacketFilterStopsSaysNothing) {
  Listen(Answering(kSettings));
  ASSERT_TRUE(test::DropPackets(acceptor_->address()));
  const DialResult result = DialPort(kShort);
  EXPECT_EQ(result.sign, PortSign::kUnknown) << result.detail;
  EXPECT_THAT(result.detail, HasSubstr("packet filter"));
}

TEST_F(PortDialTest, AQueueWithoutRoomIsTold) {
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_FALSE(HasRoomInQueue(listener.get())) << "it does not listen";
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
  EXPECT_TRUE(HasRoomInQueue(listener.get()));
  std::vector<Descriptor> callers;
  EXPECT_TRUE(test::WaitUntil([&] {
    callers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ::connect(callers.back().get(), reinterpret_cast<const sockaddr*>(&at), size);
    return !HasRoomInQueue(listener.get());
  }));
}

// An interface without IPv6, as in many containers: nothing was ever dialled there.
TEST_F(PortDialTest, WithoutAnIpv6LoopbackAPortOnAllAddressesIsDialled) {
  DialResult result;
  bool prepared = false;
  std::thread other([&] {  // in a network of its own, of which the loopback loses ::1
    const Descriptor v6(
        ::unshare(CLONE_NEWNET) == 0 ? ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1);
    ifreq loopback{};
    std::string("lo").copy(loopback.ifr_name, sizeof loopback.ifr_name);
    loopback.ifr_flags = IFF_UP;
    prepared = v6.get() >= 0 && ::ioctl(v6.get(), SIOCSIFFLAGS, &loopback) == 0;
    in6_ifreq address{.ifr6_addr = in6addr_loopback, .ifr6_prefixlen = 128, .ifr6_ifindex = 1};
    ::ioctl(v6.get(), SIOCDIFADDR, &address);
    if (prepared) {
      Listen(Answering(kSettings), kLimits, "[::]:0");
      result = DialPort(kLong);
    }
  });
  other.join();
  if (!prepared) {
    GTEST_SKIP() << "this user may not make networks";
  }
  EXPECT_EQ(result.sign, PortSign::kAlive) << result.detail;
}

// Regression test: each byte of an answer had the whole patience.
TEST_F(PortDialTest, AnAnswerThatComesByBytesHasThePatienceOnce) {
  Listen([this](Descriptor socket) { Keep(std::move(socket)); });
  int waits = 0;
  size_t sent = 0;
  const auto drip = [&] {
    const MutexLock lock(mutex_);
    if (++waits % 5 == 0 && !kept_.empty() && sent < kSettings.size()) {
      ::send(kept_.front().get(), &kSettings[sent++], 1, MSG_NOSIGNAL);
    }
    return false;
  };
  const DialResult result = DialOwnPort(*acceptor_, PortProtocol::kHttp2, kShort, drip);
  EXPECT_EQ(result.sign, PortSign::kSilent);
  EXPECT_LT(sent, kSettings.size());
}

TEST_F(PortDialTest, AServerThatNeverAnswersIsSilent) {
  Listen([this](Descriptor socket) { Keep(std::move(socket)); });
  const DialResult result = DialPort(kShort);
  EXPECT_EQ(result.sign, PortSign::kSilent);
  EXPECT_THAT(result.detail, HasSubstr("did not answer"));
}

TEST_F(PortDialTest, AServerThatEndsConnectionsOrSaysSomethingElseIsSilent) {
  Listen([](Descriptor) {});
  EXPECT_THAT(DialPort(kLong).detail, HasSubstr("without an answer"));
  acceptor_->Stop();
  Listen(Answering("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(DialPort(kLong).detail, HasSubstr("other bytes"));
}

TEST_F(PortDialTest, AServerThatTakesNothingOverIsSilent) {
  std::atomic<bool> over = false;
  Listen([&](Descriptor) { test::WaitUntil([&] { return over.load(); }); });
  const DialResult result = DialPort(kShort);
  EXPECT_EQ(result.sign, PortSign::kSilent);
  EXPECT_THAT(result.detail, HasSubstr("did not take it over"));
  over = true;
  acceptor_->Stop();  // its thread reads `over`
}

// As long as others are served, a dial that fails is bad luck.
TEST_F(PortDialTest, ADialThatFailsWhileOthersProveThemselvesIsNoSilence) {
  ConnectionLimits limits = kLimits;
  limits.opened_per_second = limits.opened_burst = 1'000'000;
  const auto prove = [this](Descriptor socket) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    ::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&peer), &size);
    acceptor_->Prove("ipv4:127.0.0.1:" + std::to_string(ntohs(peer.sin_port)));
    Keep(std::move(socket));
    const MutexLock lock(mutex_);
    if (kept_.size() > 8) {
      kept_.erase(kept_.begin());
    }
  };
  Listen(prove, limits);
  std::atomic<bool> over = false;
  std::thread client([&] {
    while (!over) {
      const uint64_t proven = acceptor_->counts().proven;
      const Descriptor socket = Connect();
      test::WaitUntil([&] { return over || acceptor_->counts().proven > proven; });
    }
  });
  EXPECT_TRUE(test::WaitUntil([&] { return acceptor_->counts().proven > 0; }));
  EXPECT_TRUE(test::WaitUntil([&] { return DialPort(kShort).sign == PortSign::kAlive; }));
  over = true;
  client.join();
}

TEST_F(PortDialTest, AFloodDoesNotLookLikeADeafPort) {
  Listen(Answering(kSettings));
  std::atomic<bool> over = false;
  std::vector<std::thread> attackers;
  for (int i = 0; i < 4; ++i) {
    attackers.emplace_back([&] {
      std::vector<Descriptor> held;
      while (!over) {
        held.push_back(Connect());
        if (held.size() > 50) {
          held.clear();
        }
      }
    });
  }
  EXPECT_TRUE(test::WaitUntil([&] { return acceptor_->counts().arrived > 500; }));
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(DialPort(kLong).sign, PortSign::kAlive);
  }
  over = true;
  for (std::thread& attacker : attackers) {
    attacker.join();
  }
}

TEST_F(PortDialTest, ADialThatIsStoppedSaysNothing) {
  Listen([this](Descriptor socket) { Keep(std::move(socket)); });
  EXPECT_EQ(DialOwnPort(*acceptor_, PortProtocol::kHttp2, kLong, [] { return true; }).sign,
            PortSign::kUnknown);
}

TEST_F(PortDialTest, WithoutADescriptorADialSaysNothing) {
  Listen(Answering(kSettings));
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const DialResult result = DialPort(kLong);
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(result.sign, PortSign::kUnknown);
  EXPECT_THAT(result.detail, HasSubstr("cannot dial"));
}

}  // namespace
}  // namespace ruvd::transport
