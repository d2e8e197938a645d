// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What strangers reach on a node's two ports.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "node/api/authorization.h"
#include "node/api/connection_limits.h"
#include "node/transport/connection_acceptor.h"
#include "node/transport/header_guard.h"
#include "ruvd/node/v1/node.pb.h"
#include "tests/node/process/certified_node_fixture.h"
#include "tests/node/wait_until.h"

namespace ruvd::node {
namespace {

using test::WaitUntil;
using transport::Descriptor;

// Types and flags of HTTP/2 frames (RFC 9113, section 6)
constexpr char kData = 0;
constexpr char kHeaders = 1;
constexpr char kSettings = 4;
constexpr char kContinuation = 9;
constexpr char kEndStream = 1;
constexpr char kEndHeaders = 4;

std::string Frame(char type, char flags, char stream, const std::string& payload) {
  const std::string head = {static_cast<char>(payload.size() >> 16),
                            static_cast<char>(payload.size() >> 8),
                            static_cast<char>(payload.size()),
                            type,
                            flags,
                            0,
                            0,
                            0,
                            stream};
  return head + payload;
}

// Begins a connection with some frames, and then sends a header of 10 MiB in frames of one byte,
// until the node ends the connection or this object goes.
class EndlessHeader {
 public:
  EndlessHeader(Descriptor socket, const std::string& first) : socket_(std::move(socket)) {
    // A literal header with the name "x" and a value of 2^30 bytes (RFC 7541, section 6.2.2).
    std::string bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0, "") + first +
                        Frame(kHeaders, 0, 3, std::string("\x00\x01x\x7f\x81\xff\xff\xff\x03", 9));
    while (bytes.size() < (uint64_t{10} << 20)) {
      bytes += Frame(kContinuation, 0, 3, "a");
    }
    // What the kernel takes for the node is not yet there; an error says that the node has ended
    // the connection.
    sender_ = std::thread([fd = socket_.get(), bytes = std::move(bytes)] {
      size_t sent = 0;
      for (ssize_t more = 1; sent < bytes.size() && more > 0;) {
        more = ::send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        sent += more > 0 ? static_cast<size_t>(more) : 0;
      }
    });
  }
  EndlessHeader(EndlessHeader&&) = default;
  EndlessHeader& operator=(EndlessHeader&&) = delete;
  ~EndlessHeader() {
    if (sender_.joinable()) {
      ::shutdown(socket_.get(), SHUT_RDWR);
      sender_.join();
    }
  }

 private:
  Descriptor socket_;
  std::thread sender_;
};

class NodePortsTest : public CertifiedNodeTest {
 protected:
  // Starts a node with plain links, so that a test can speak on both ports.
  void StartFederated() {
    const auto authority = privacy::ClusterAuthority::Generate();
    Certify(authority, authority, SystemClock().WallMillis() + kLife / 2);
    config_.federation.tls = "off";
    Start();
  }
  // Returns whether a port knows a method, whatever it answers.
  static bool Answers(const std::string& address, const std::string& method) {
    grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub(
        grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
    const grpc::Slice nothing;
    const grpc::ByteBuffer empty(&nothing, 1);
    grpc::ByteBuffer answer;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, method, grpc::StubOptions(), &empty, &answer,
                   [&done](grpc::Status status) { done.set_value(std::move(status)); });
    return done.get_future().get().error_code() != grpc::StatusCode::UNIMPLEMENTED;
  }
  static Descriptor Connect(const std::string& address) {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port =
        htons(static_cast<uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str())));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    return socket;
  }
  node::v1::PortStatus Port(const std::string& name) {
    const node::v1::GetStatusResponse status = Status();
    for (const node::v1::PortStatus& port : status.ports()) {
      if (port.name() == name) {
        return port;
      }
    }
    ADD_FAILURE() << "no port " << name;
    return {};
  }
  // How many connections of a port were refused or ended for this reason.
  uint64_t Ended(const std::string& port, const std::string& why) {
    const node::v1::PortStatus status = Port(port);
    const auto found = status.ended().find(why);
    return found == status.ended().end() ? 0 : found->second;
  }
  uint64_t Seen(const std::string& name) {
    const node::v1::PortStatus port = Port(name);
    uint64_t refused = 0;
    for (const char* why : {"too_often", "port_full", "no_descriptor"}) {
      const auto found = port.ended().find(why);
      refused += found == port.ended().end() ? 0 : found->second;
    }
    return port.accepted() + refused;
  }
  // A new channel, so that the call has a connection of its own.
  void ExpectServesNewClients() {
    channel_ = grpc::CreateChannel(node_->api_address(), grpc::InsecureChannelCredentials());
    EXPECT_TRUE(Generate(Request("The old man walked", 4)).status.ok());
  }
};

// Found by a hostile review: reflection and health answered on the port for peers, one thread for
// every stream. The rules name every method that the program knows.
TEST_F(NodePortsTest, ThePortForPeersServesLinksAndNothingElse) {
  StartFederated();
  std::set<std::string> known;
  for (const api::RpcRule& rule : api::RpcRules()) {
    const std::string method(rule.method);
    known.insert(method);
    const bool of_peers = method == "/ruvd.federation.v1.FederationService/Link";
    const bool of_authority = method.starts_with("/ruvd.admission.");
    EXPECT_EQ(Answers(node_->federation_address(), method), of_peers) << method;
    if (of_peers || of_authority) {
      EXPECT_FALSE(Answers(node_->api_address(), method)) << method;
    }
  }
  EXPECT_GE(known.size(), 40u);
  for (const char* method : {"/grpc.health.v1.Health/Check",
                             "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"}) {
    EXPECT_TRUE(known.contains(method)) << method;
    EXPECT_TRUE(Answers(node_->api_address(), method)) << method;
  }
}

// Found by a hostile review: a thousand silent connections made both ports deaf for ever.
TEST_F(NodePortsTest, AThousandSilentConnectionsMakeNoPortDeaf) {
  StartFederated();
  {
    std::vector<Descriptor> silent;
    for (int i = 0; i < 1000; ++i) {
      silent.push_back(Connect(node_->federation_address()));
    }
    ASSERT_TRUE(WaitUntil([&] { return Seen("federation") >= 1000; }));
    EXPECT_LE(Port("federation").connections(), limits::kPeerConnections.unproven_of_source);
    ExpectServesNewClients();
    for (int i = 0; i < 1000; ++i) {
      silent.push_back(Connect(node_->api_address()));
    }
    ASSERT_TRUE(WaitUntil([&] { return Seen("api") >= 1000; }));
    EXPECT_LE(Port("api").unproven(), limits::kClientConnections.unproven_of_source);
    ExpectServesNewClients();
    EXPECT_GT(Ended("federation", "source_full") + Ended("federation", "too_often"), 900u);
  }
  ExpectServesNewClients();
  EXPECT_TRUE(WaitUntil(
      [&] { return Port("federation").connections() == 0 && Port("api").connections() <= 2; }));
}

TEST_F(NodePortsTest, AConnectionProvesItselfByACall) {
  StartFederated();
  const Descriptor silent = Connect(node_->api_address());
  ExpectServesNewClients();
  EXPECT_TRUE(WaitUntil([&] { return Port("api").unproven() == 1; }));
  EXPECT_GE(Port("api").connections(), 2u);
}

// The names of gRPC's functions are those of one version; a build with another one has to be seen.
TEST_F(NodePortsTest, HeadersAreGuardedWithTheLinkedGrpc) {
  EXPECT_TRUE(transport::HeadersAreGuarded());
}

// Found by a hostile review: a header of a gibibyte, sent in small frames, cost a core for as long
// as it lasted, because gRPC reads what it has of a header again with every frame. The bytes are
// there when the connection is accepted, so that gRPC parses them on the thread that hands it over.
TEST_F(NodePortsTest, AnEndlessHeaderEndsSoon) {
  StartFederated();
  const uint64_t refused = transport::ProcessHeaderBlocks().refused();
  std::vector<EndlessHeader> senders;
  for (int i = 0; i < 4; ++i) {
    senders.emplace_back(Connect(node_->federation_address()), "");
  }
  ExpectServesNewClients();
  EXPECT_TRUE(WaitUntil([&] { return transport::ProcessHeaderBlocks().refused() == refused + 4; }));
  EXPECT_TRUE(WaitUntil([&] { return Port("federation").connections() == 0; }));
  EXPECT_TRUE(node_->Drain(kDrain).ok());
}

// Found by a hostile review: on the port for clients a first request may have 16 MiB, and a header
// of 10 MiB kept a core busy for minutes. A caller that had made a call had no limit at all.
TEST_F(NodePortsTest, AHeaderOf10MiBOnThePortForClientsCostsNoCore) {
  StartFederated();
  const uint64_t refused = transport::ProcessHeaderBlocks().refused();
  const auto headers = [](const std::string& path) {
    std::string block;
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, std::string>>{{":method", "POST"},
                                                          {":scheme", "http"},
                                                          {":path", path},
                                                          {":authority", "ruvd"},
                                                          {"content-type", "application/grpc"},
                                                          {"te", "trailers"}}) {
      block += std::string(1, '\0') + static_cast<char>(name.size()) + name +
               static_cast<char>(value.size()) + value;
    }
    return block;
  };
  const std::string call =
      Frame(kHeaders, kEndHeaders, 1, headers("/ruvd.node.v1.NodeService/GetStatus")) +
      Frame(kData, kEndStream, 1, std::string(5, '\0'));
  const EndlessHeader stranger(Connect(node_->api_address()), "");
  const EndlessHeader client(Connect(node_->api_address()), call);
  EXPECT_TRUE(WaitUntil([&] { return transport::ProcessHeaderBlocks().refused() == refused + 2; }));
  channel_ = nullptr;
  ExpectServesNewClients();
  EXPECT_TRUE(WaitUntil([&] { return Port("api").connections() <= 2; }));
  EXPECT_EQ(Limit("header_block").refused(), refused + 2);
  EXPECT_TRUE(WaitUntil([&] { return transport::ProcessHeaderBlocks().open() == 0; }))
      << "a connection that has ended is forgotten";
}

}  // namespace
}  // namespace ruvd::node
