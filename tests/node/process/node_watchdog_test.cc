// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

//
// A running node that finds out whether its own ports still serve.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "node/reasons.h"
#include "node/transport/descriptor.h"
#include "ruvd/node/v1/node.pb.h"
#include "tests/node/deaf_port.h"
#include "tests/node/process/certified_node_fixture.h"
#include "tests/node/wait_until.h"

namespace ruvd::node {
namespace {

using std::chrono::milliseconds;
using test::WaitUntil;
using ::testing::AllOf;
using ::testing::HasSubstr;
using transport::Descriptor;

class NodeWatchdogTest : public CertifiedNodeTest {
 protected:
  // A node with TLS on the port for peers, which dials its ports again and again.
  void StartWatching(milliseconds patience, int failures) {
    const auto authority = privacy::ClusterAuthority::Generate();
    Certify(authority, authority, SystemClock().WallMillis() + kLife / 2);
    tuning_.port_watch = {
        .interval = milliseconds(5), .patience = patience, .failures = failures, .on_look = [this] {
          ++looks_;
        }};
    Start();
  }
  // Waits until the node has dialled all its ports, from the beginning to the end.
  bool LooksOnceMore() {
    return WaitUntil([this, before = looks_.load()] { return looks_ > before + 1; });
  }
  // One that ends with the first dial that fails, however long a dial takes.
  void StartStrict() { StartWatching(std::chrono::minutes(3), /*failures=*/1); }
  static void Flood(const std::string& address, const std::atomic<bool>& over) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port =
        htons(static_cast<uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str())));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::vector<Descriptor> held;
    while (!over) {
      held.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      ::connect(held.back().get(), reinterpret_cast<sockaddr*>(&to), sizeof to);
      if (held.size() > 100) {
        held.clear();
      }
    }
  }
  uint64_t Accepted() {
    uint64_t accepted = 0;
    const node::v1::GetStatusResponse status = Status();
    for (const node::v1::PortStatus& port : status.ports()) {
      accepted += port.accepted();
    }
    return accepted;
  }

  std::atomic<uint64_t> looks_ = 0;
};

TEST_F(NodeWatchdogTest, ADeafPortIsAProblemAndThenTheEndOfTheNode) {
  StartWatching(milliseconds(200), /*failures=*/20);
  EXPECT_EQ(ProblemOf("port api"), "");
  EXPECT_EQ(ProblemOf("port federation"), "");
  ASSERT_TRUE(LooksOnceMore()) << "a port that never answered is no failure";
  ASSERT_TRUE(test::MakeDeaf(node_->federation_address()));
  EXPECT_TRUE(WaitUntil([&] { return !ProblemOf("port federation").empty(); }));
  EXPECT_EQ(Status().node().state(), node::v1::NODE_STATE_DEGRADED);
  EXPECT_TRUE(WaitUntil([&] { return !node_->failure().ok(); }));
  EXPECT_EQ(ReasonOf(node_->failure()), reasons::kPortDeaf);
  EXPECT_THAT(MessageOf(node_->failure()),
              AllOf(HasSubstr("the port federation is deaf since"), HasSubstr("was not accepted"),
                    HasSubstr("service manager")));
  EXPECT_TRUE(Generate(Request("The old man walked", 4)).status.ok());
  EXPECT_TRUE(node_->Drain(kDrain).ok()) << "it stops in order all the same";
}

TEST_F(NodeWatchdogTest, TheDialsOfTheNodeShowInNoCount) {
  StartStrict();
  const uint64_t before = Accepted();
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(Generate(Request("The old man walked", 4)).status.ok());
  }
  EXPECT_TRUE(LooksOnceMore());
  EXPECT_EQ(Accepted(), before);
  const node::v1::GetStatusResponse status = Status();
  for (const node::v1::PortStatus& port : status.ports()) {
    EXPECT_LE(port.connections(), 1u) << port.name();
    EXPECT_TRUE(port.ended().empty()) << port.name();
  }
  EXPECT_TRUE(node_->failure().ok());
}

// A node that floods keep busy is not deaf, and still finds out afterwards when it is.
TEST_F(NodeWatchdogTest, AFloodEndsNoNode) {
  StartStrict();
  EXPECT_EQ(
      Status().node().state(),
      node::v1::NODE_STATE_SERVING);  // a connection that has proved itself outlasts the flood
  std::atomic<bool> over = false;
  std::vector<std::thread> attackers;
  for (const std::string& address : {node_->api_address(), node_->federation_address()}) {
    attackers.emplace_back([address, &over] { Flood(address, over); });
  }
  EXPECT_TRUE(WaitUntil([&] { return Accepted() > 3000 || !node_->failure().ok(); }));
  EXPECT_TRUE(LooksOnceMore());
  EXPECT_TRUE(node_->failure().ok()) << node_->failure();
  over = true;
  for (std::thread& attacker : attackers) {
    attacker.join();
  }
  EXPECT_TRUE(node_->failure().ok()) << node_->failure();
}

}  // namespace
}  // namespace ruvd::node
