// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/reasons.h"
#include "node/admission/identity.h"
#include "node/admission/limits.h"
#include "node/api/rpc_status.h"
#include "node/sharing/limits.h"
#include "node/transport/tls.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"
#include "ruvd/federation/v1/federation.grpc.pb.h"
#include "ruvd/inference/v1/inference.grpc.pb.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "ruvd/node/v1/node.pb.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"
#include "tests/node/link_party.h"
#include "tests/node/process/certified_node_fixture.h"

namespace ruvd::node {
namespace {

class NodeLinksTest : public CertifiedNodeTest {
 protected:
  // Starts a federated node of the cluster of `authority_`.
  void StartFederated() {
    Certify(authority_, authority_, SystemClock().WallMillis() + kLife / 2);
    Start();
  }

  const privacy::ClusterAuthority authority_ = privacy::ClusterAuthority::Generate();
  const test::Member member_{authority_};  // misbehaves once TLS has let it in
};

// Signals the first warning that contains a text.
class WarningSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit WarningSink(std::string part) : part_(std::move(part)) {}
  std::future<std::string> found() { return found_.get_future(); }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string text(message.payload.begin(), message.payload.end());
    if (message.level == spdlog::level::warn && !told_ && text.find(part_) != std::string::npos) {
      told_ = true;
      found_.set_value(text);
    }
  }
  void flush_() override {}

 private:
  const std::string part_;
  bool told_ = false;
  std::promise<std::string> found_;
};

// Counts the lines of the log that contain a text.
class LineCounter final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LineCounter(std::string part) : part_(std::move(part)) {}
  size_t lines() const { return lines_; }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    lines_ += std::string_view(message.payload.data(), message.payload.size()).find(part_) !=
                      std::string_view::npos
                  ? 1
                  : 0;
  }
  void flush_() override {}

 private:
  const std::string part_;
  std::atomic<size_t> lines_{0};
};

// Found by a hostile review: HTTP/2 of strangers was parsed, and answered.
TEST_F(NodeLinksTest, StrangersAreRefusedInTheTlsHandshake) {
  const auto refusals = std::make_shared<LineCounter>("port for peers refused a caller");
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", refusals));
  StartFederated();
  const transport::TlsCertificate stranger = transport::MakeSelfSignedCertificate().value();
  constexpr uint64_t kTries = limits::kGateLogLines + 5;
  for (uint64_t i = 0; i < kTries; ++i) {
    const auto stub = federation::v1::FederationService::NewStub(
        member_.ChannelWith(stranger, node_->federation_address()));
    grpc::ClientContext context;
    const auto stream = stub->Link(&context);
    federation::v1::WireFrame answer;
    EXPECT_FALSE(stream->Read(&answer));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  const node::v1::PortStatus port = Status().ports(1);
  EXPECT_EQ(port.name(), "federation");
  const auto counted = port.ended().find("certificate_invalid");
  ASSERT_NE(counted, port.ended().end());
  EXPECT_GE(counted->second, kTries);
  EXPECT_GT(refusals->lines(), 0U);
  EXPECT_LE(refusals->lines(), 2 * limits::kGateLogLines) << "in at most two periods";
  node_.reset();
  spdlog::set_default_logger(before);
}

// Found by a hostile review: a stranger wrote one line of the log for each frame.
TEST_F(NodeLinksTest, StrangersDoNotFillTheLog) {
  const auto closings = std::make_shared<LineCounter>("closes");
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", closings));
  StartFederated();
  const auto stub =
      federation::v1::FederationService::NewStub(member_.ChannelTo(node_->federation_address()));
  for (uint64_t link = 0; link < 3 * limits::kLinkLogLines; ++link) {
    grpc::ClientContext context;
    const auto stream = stub->Link(&context);
    federation::v1::WireFrame frame;
    frame.mutable_chunk()->set_data("no opening");
    stream->Write(frame);
    while (stream->Read(&frame)) {
    }
    (void)stream->Finish();
  }
  node_.reset();
  spdlog::set_default_logger(before);
  EXPECT_GT(closings->lines(), 0U);
  EXPECT_LE(closings->lines(), 2 * limits::kLinkLogLines) << "of one reason in at most two periods";
}

TEST_F(NodeLinksTest, ASeedThatNobodyAnswersAtWasNamedNowhere) {
  const auto sink = std::make_shared<WarningSink>("127.0.0.1:1");
  auto found = sink->found();
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink));
  config_.federation.seeds = {"127.0.0.1:1"};
  StartFederated();
  const bool told = found.wait_for(std::chrono::minutes(2)) == std::future_status::ready;
  node_.reset();
  spdlog::set_default_logger(before);
  ASSERT_TRUE(told);
  EXPECT_THAT(found.get(), ::testing::HasSubstr("federation.seeds"));
}

// A member opens no link and sends frames as fast as it can.
TEST_F(NodeLinksTest, AFloodOnALinkEndsTheLinkAndNothingElse) {
  StartFederated();
  auto stub =
      federation::v1::FederationService::NewStub(member_.ChannelTo(node_->federation_address()));
  federation::v1::WireFrame frame;
  frame.mutable_chunk()->set_data(std::string(100 << 10, 'x'));
  for (int link = 0; link < 3; ++link) {
    grpc::ClientContext context;
    auto stream = stub->Link(&context);
    for (int i = 0; i < 2000 && stream->Write(frame); ++i) {
    }
    federation::v1::WireFrame answer;
    while (stream->Read(&answer)) {  // its Goaway may be lost, because the connection ends, too
    }
    (void)stream->Finish();
  }
  EXPECT_EQ(Status().node().state(), node::v1::NODE_STATE_SERVING);
  EXPECT_EQ(Status().node().dead_letters(), 0u)
      << "the flood waits in its stream, not in the mailbox";
  EXPECT_TRUE(node_->Drain(kDrain).ok());
}

// A member opens a stream and does nothing: neither reads, nor writes, nor ends the stream.
TEST_F(NodeLinksTest, ASilentLinkDoesNotHoldUpTheStop) {
  StartFederated();
  auto stub =
      federation::v1::FederationService::NewStub(member_.ChannelTo(node_->federation_address()));
  grpc::ClientContext context;
  auto stream = stub->Link(&context);
  stream->WaitForInitialMetadata();
  EXPECT_TRUE(node_->Drain(kDrain).ok());
  node_.reset();
  federation::v1::WireFrame answer;
  while (stream->Read(&answer)) {
  }
  (void)stream->Finish();
}

// Answers a link with nonsense and then neither reads nor ends the stream.
class StuckPeer final : public federation::v1::FederationService::CallbackService {
 public:
  struct Reactor final
      : grpc::ServerBidiReactor<federation::v1::WireFrame, federation::v1::WireFrame> {
    Reactor(std::promise<void>& peer_cancelled, Mutex& peer_mutex)
        : cancelled(peer_cancelled), mutex(peer_mutex) {
      nonsense.mutable_ping()->set_seq(1);
      StartWrite(&nonsense);
    }
    void OnCancel() override {
      {
        const MutexLock lock(mutex);
        cancelled.set_value();
      }
      Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }
    federation::v1::WireFrame nonsense;
    std::promise<void>& cancelled;
    Mutex& mutex;
  };
  // ThreadSanitizer does not see that gRPC passes this object to its threads; it does see the
  // mutex.
  StuckPeer() { const MutexLock lock(mutex); }
  grpc::ServerBidiReactor<federation::v1::WireFrame, federation::v1::WireFrame>* Link(
      grpc::CallbackServerContext*) override {
    return new Reactor(cancelled.at(std::min(links.fetch_add(1), cancelled.size() - 1)), mutex);
  }
  Mutex mutex;
  std::array<std::promise<void>, 64> cancelled;  // one for every attempt of the node
  std::atomic<size_t> links = 0;
};

TEST_F(NodeLinksTest, ALinkThatThePeerDoesNotEndIsCancelled) {
  StuckPeer peer;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&peer);
  const auto server = builder.BuildAndStart();
  config_.federation.seeds = {"127.0.0.1:" + std::to_string(port)};
  config_.federation.tls = "off";
  StartFederated();
  EXPECT_EQ(peer.cancelled[0].get_future().wait_for(std::chrono::minutes(1)),
            std::future_status::ready);
  EXPECT_EQ(Status().node().state(), node::v1::NODE_STATE_SERVING);
  node_.reset();
  server->Shutdown();
}

// A member as a relay between two nodes: it ends the TLS of a node that dials it with a key of its
// own, and passes every frame on to the other node in both directions.
class Relay final : public federation::v1::FederationService::Service {
 public:
  using LinkFrame = federation::v1::WireFrame;

  explicit Relay(std::shared_ptr<grpc::Channel> onward) : stub_(std::move(onward)) {}

  grpc::Status Link(grpc::ServerContext*,
                    grpc::ServerReaderWriter<LinkFrame, LinkFrame>* dialer) override {
    links.fetch_add(1);
    dialer->SendInitialMetadata();  // the dialler waits for it
    grpc::ClientContext context;
    const auto listener = stub_.Link(&context);
    std::thread back([&] {
      LinkFrame frame;
      while (listener->Read(&frame) && dialer->Write(frame)) {
      }
      context.TryCancel();
    });
    LinkFrame frame;
    while (dialer->Read(&frame) && listener->Write(frame)) {
    }
    listener->WritesDone();
    back.join();
    (void)listener->Finish();
    return grpc::Status::OK;
  }
  std::atomic<size_t> links = 0;

 private:
  federation::v1::FederationService::Stub stub_;
};

// Two nodes of one cluster in this process, the second of which dials the address `seed_`.
class TwoNodesTest : public NodeLinksTest {
 protected:
  void StartBoth(const std::function<std::string(const std::string&)>& way_to) {
    StartFederated();
    config_.node.data_dir = folder_ / "second";
    config_.federation.seeds = {way_to(node_->federation_address())};
    Certify(authority_, authority_, SystemClock().WallMillis() + kLife / 2);
    auto second = Node::Start(config_);
    ASSERT_TRUE(second.ok()) << second.status();
    second_ = *std::move(second);
  }
  void TearDown() override {
    second_.reset();
    NodeLinksTest::TearDown();
  }
  // Returns the first node's status once `enough` returns true for it.
  node::v1::GetStatusResponse AwaitStatus(
      const std::function<bool(const node::v1::GetStatusResponse&)>& enough) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    node::v1::GetStatusResponse status = Status();
    while (!enough(status) && std::chrono::steady_clock::now() < patience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      status = Status();
    }
    return status;
  }
  static uint64_t Refused(const node::v1::GetStatusResponse& status, const char* reason) {
    const auto found = status.cluster().refused_envelopes().find(reason);
    return found == status.cluster().refused_envelopes().end() ? 0 : found->second;
  }

  std::unique_ptr<Node> second_;
};

TEST_F(TwoNodesTest, LinkOverTlsAndOnWithNewKeys) {
  StartBoth([](const std::string& address) { return address; });
  const auto two = [](const auto& status) { return status.cluster().members_alive() == 2; };
  EXPECT_EQ(AwaitStatus(two).cluster().members_alive(), 2u);
  ASSERT_TRUE(node_->ReloadCredentials().ok());
  ASSERT_TRUE(second_->ReloadCredentials().ok());
  auto third = config_;
  third.node.data_dir = folder_ / "third";
  config_ = third;
  Certify(authority_, authority_, SystemClock().WallMillis() + kLife / 2);
  const auto newcomer = Node::Start(config_);
  ASSERT_TRUE(newcomer.ok()) << newcomer.status();
  const auto three = [](const auto& status) { return status.cluster().members_alive() == 3; };
  EXPECT_EQ(AwaitStatus(three).cluster().members_alive(), 3u);
}

TEST_F(TwoNodesTest, ARelayThatEndsTlsBetweenThemIsRefused) {
  std::unique_ptr<Relay> relay;
  std::unique_ptr<grpc::Server> server;
  const auto tls = member_.LinkTlsAt(folder_ / "relay.pem");
  StartBoth([&](const std::string& address) {
    relay = std::make_unique<Relay>(member_.ChannelTo(address));
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", tls->server_credentials(), &port);
    builder.RegisterService(relay.get());
    server = builder.BuildAndStart();
    return "127.0.0.1:" + std::to_string(port);
  });
  const auto status =
      AwaitStatus([](const auto& seen) { return Refused(seen, reasons::kChannelBinding) > 0; });
  EXPECT_GT(Refused(status, reasons::kChannelBinding), 0u);
  EXPECT_GT(relay->links.load(), 0u);
  EXPECT_EQ(status.cluster().members_alive(), 1u);
  second_.reset();
  node_.reset();
  server->Shutdown();
}

TEST_F(TwoNodesTest, OneThatSpeaksPlainTextIsNotLinked) {
  config_.federation.tls = "off";
  StartBoth([this](const std::string& address) {
    config_.federation.tls = "required";
    return address;
  });
  auto channel =
      grpc::CreateChannel(second_->federation_address(), grpc::InsecureChannelCredentials());
  federation::v1::WireFrame answer;
  grpc::ClientContext context;
  const auto stream = federation::v1::FederationService::NewStub(channel)->Link(&context);
  EXPECT_FALSE(stream->Read(&answer)) << "the node with TLS says nothing in plain text";
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Status().cluster().members_alive(), 1u);
}

}  // namespace
}  // namespace ruvd::node
