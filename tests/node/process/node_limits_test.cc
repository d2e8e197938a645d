// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The limits that protect a node, as its operator sees them.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "node/api/connection_limits.h"
#include "node/program/program.h"
#include "node/terminal/command.h"
#include "node/transport/descriptor.h"
#include "ruvd/node/v1/node.pb.h"
#include "tests/node/process/certified_node_fixture.h"
#include "tests/node/process/peer_config.h"
#include "tests/node/process/recording_peer.h"
#include "tests/node/scraped_metrics.h"
#include "tests/node/wait_until.h"

namespace ruvd::node {
namespace {

using test::WaitUntil;
using testing::HasSubstr;
using testing::Not;
using transport::Descriptor;

// Returns the names in backticks of a text.
std::set<std::string> Names(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, '`');
  std::set<std::string> names;
  for (size_t i = 1; i < parts.size(); i += 2) {
    names.insert(parts[i]);
  }
  return names;
}

// Returns the counters that the tables of limits name. Each row has to name one, or say that gRPC
// keeps the limit and does not count.
std::set<std::string> CountersOfTheTables() {
  std::ifstream file(test::SourceDir() + "/SECURITY.md");
  std::set<std::string> names;
  size_t column = 0;  // of the counters in the present table; 0: it has none
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, " |");
    const auto header = std::ranges::find(cells, " counter");
    if (!line.starts_with("|")) {
      column = 0;
    } else if (header != cells.end()) {
      column = static_cast<size_t>(header - cells.begin());
    } else if (column != 0 && !line.starts_with("|---")) {
      const std::string cell = column < cells.size() ? cells[column] : "";
      const std::set<std::string> of_row = Names(cell);
      EXPECT_TRUE(!of_row.empty() || cell == " gRPC does not count it") << line;
      names.insert(of_row.begin(), of_row.end());
    }
  }
  return names;
}

class NodeLimitsTest : public CertifiedNodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    config_.metrics.listen = "127.0.0.1:0";
    config_.api.http_listen = "127.0.0.1:0";
    config_.federation.tls = "off";  // so that a test can speak on the port for peers
    Certify(authority_, authority_, SystemClock().WallMillis() + kLife / 2);
    Start();
    ASSERT_TRUE(WaitUntil([&] { return !Limit("frames").name().empty(); }));
  }
  Descriptor ConnectToPeerPort() {
    const std::string address = node_->federation_address();
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port =
        htons(static_cast<uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str())));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    return socket;
  }

  const privacy::ClusterAuthority authority_ = privacy::ClusterAuthority::Generate();
};

TEST_F(NodeLimitsTest, EveryLimitOfTheTablesHasACounterAndEveryCounterALimit) {
  std::set<std::string> counted;
  std::string last;
  const node::v1::GetStatusResponse status = Status();
  for (const node::v1::LimitStatus& limit : status.limits()) {
    EXPECT_LT(last, limit.name()) << "sorted, and none twice";
    EXPECT_NE(limit.scope(), node::v1::LIMIT_SCOPE_UNSPECIFIED) << limit.name();
    EXPECT_FALSE(limit.unit().empty()) << limit.name();
    last = limit.name();
    counted.insert(limit.name());
  }
  EXPECT_EQ(CountersOfTheTables(), counted);
}

TEST_F(NodeLimitsTest, ConnectionsThatOneSourceHasToGiveUpAreCounted) {
  std::vector<Descriptor> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(ConnectToPeerPort());
  }
  const size_t most = limits::kPeerConnections.unproven_of_source;
  EXPECT_TRUE(WaitUntil([&] { return Limit("peer_unproven_of_source").refused() == 20 - most; }));
  EXPECT_EQ(Limit("peer_unproven_of_source").used(), most);
  EXPECT_EQ(Limit("peer_unproven_of_source").limit(), static_cast<double>(most));
  EXPECT_EQ(Limit("peer_unproven_of_source").scope(), node::v1::LIMIT_SCOPE_SOURCE);
  EXPECT_EQ(Limit("peer_connections").used(), most);
  std::ostringstream out;
  cli::CommandContext context{.out = out, .err = out, .environment = {}};
  EXPECT_EQ(RunProgram({"status", "--server", node_->api_address()}, context), 0);
  EXPECT_THAT(out.str(), HasSubstr("peer_unproven_of_source (source): 12 refused or put off; the "
                                   "limit is 8 connections, 8 in use"));
  EXPECT_THAT(out.str(), Not(HasSubstr("peer_unproven_bytes"))) << "it refused nothing";
  const std::string metrics = test::ScrapeMetrics(node_->metrics_address());
  EXPECT_THAT(metrics, HasSubstr("ruvd_limit_refused_total{limit=\"peer_unproven_of_source\"} 12"));
  EXPECT_THAT(metrics, HasSubstr("ruvd_limit_used{limit=\"peer_unproven_of_source\"} 8"));
}

TEST_F(NodeLimitsTest, AFloodOfAMemberOverItsLinkIsCounted) {
  const privacy::NodeKey key = privacy::NodeKey::Generate();
  const int64_t now = SystemClock().WallMillis();
  RecordingPeer peer(ConfigOfPeer(config_, authority_
                                               .Issue({.node_key = key.public_key(),
                                                       .name = "flood",
                                                       .not_before_ms = now - kLife / 2,
                                                       .not_after_ms = now + kLife / 2,
                                                       .serial = 2})
                                               .value()),
                     key);
  federation::v1::WireFrame ping;
  ping.mutable_ping()->set_seq(1);
  bool flooded = false;
  EXPECT_TRUE(peer.TakePartUntil(node_->federation_address(), kDrain, [&] {
    if (peer.core().active_links() == 1 && !std::exchange(flooded, true)) {
      for (int i = 0; i < limits::kFrameBurst + 1000; ++i) {
        peer.Say(ping);
      }
    }
    return Limit("frames").refused() > 0;
  }));
  EXPECT_EQ(Limit("frames").scope(), node::v1::LIMIT_SCOPE_LINK);
  const node::v1::ResourceStatus resources = Status().resources();
  EXPECT_GT(resources.link_bytes_in(), limits::kFrameBurst * 2);
  EXPECT_GT(resources.link_bytes_out(), 0u);
  EXPECT_GT(resources.descriptors(), 10u);
  EXPECT_GT(resources.most_descriptors(), resources.descriptors());
  EXPECT_GT(resources.threads(), 10u);
}

}  // namespace
}  // namespace ruvd::node
