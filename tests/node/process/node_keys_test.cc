// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests what belongs to the keys of clients, with a whole node.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/client/client.h"
#include "node/reasons.h"
#include "node/transport/tls.h"
#include "privacy/identity/admission.h"
#include "ruvd/inference/v1/inference.grpc.pb.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "ruvd/node/v1/node.pb.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"
#include "storage/reasons.h"
#include "tests/node/key_line.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

using ::testing::HasSubstr;

class NodeKeysTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    certificate_ = transport::MakeSelfSignedCertificate("IP:127.0.0.1").value();
    config_.api.tls_cert = Write("cert.pem", certificate_.certificate);
    config_.api.tls_key = Write("key.pem", certificate_.private_key);
    config_.api.key_file = WriteKeys();
    auto node = Node::Start(config_);
    ASSERT_TRUE(node.ok()) << node.status();
    node_ = *std::move(node);
  }
  std::string Write(const std::string& name, const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(folder_ / name, text, 0600).ok());
    return folder_ / name;
  }
  std::string WriteKeys() {
    return Write(
        "keys",
        test::KeyLine("ward", privacy::roles::kContributor, kWard) +
            test::KeyLine("lab", privacy::roles::kContributor, kLab) +
            test::KeyLine("rare", privacy::roles::kContributor, kRare, {.requests_per_minute = 2}) +
            test::KeyLine("few", privacy::roles::kContributor, kFew, {.tokens_per_minute = 3}) +
            test::KeyLine("one", privacy::roles::kContributor, kOne, {.running = 1}) +
            test::KeyLine("boss", privacy::roles::kAdmin, kBoss));
  }
  // Completes a prompt for a holder of a key and returns the id of the response.
  std::string Complete(const std::string& key) {
    grpc::SslCredentialsOptions trusting;
    trusting.pem_root_certs = certificate_.certificate;
    const auto stub = inference::v1::InferenceService::NewStub(
        grpc::CreateChannel(node_->api_address(), grpc::SslCredentials(trusting)));
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + key);
    inference::v1::GenerateRequest request = Request("The little boat", 4);
    request.set_user_id("ann");
    request.set_session_id("morning");
    const auto reader = stub->Generate(&context, request);
    inference::v1::GenerateResponse response;
    std::string id;
    while (reader->Read(&response)) {
      if (response.has_started()) {
        id = response.started().response_id();
      }
    }
    const grpc::Status ended = reader->Finish();
    EXPECT_TRUE(ended.ok()) << ended.error_message();
    return id;
  }
  client::NodeClient Client(const std::string& key) const {
    return client::NodeClient(node_->api_address(),
                              {.tls = true, .roots = certificate_.certificate, .key = key});
  }
  absl::Status Rate(const std::string& key, const std::string& response) const {
    learning::v1::SubmitFeedbackRequest feedback;
    feedback.set_response_id(response);
    feedback.set_rating(1);
    client::NodeClient client = Client(key);
    return client.Call<learning::v1::SubmitFeedbackResponse>(feedback).status();
  }

  const std::string kWard = std::string(40, 'w');
  const std::string kLab = std::string(40, 'l');
  const std::string kRare = std::string(40, 'r');
  const std::string kFew = std::string(40, 'f');
  const std::string kOne = std::string(40, '1');
  const std::string kBoss = std::string(40, 'b');
  transport::TlsCertificate certificate_;
};

TEST_F(NodeKeysTest, AResponseBelongsToTheKeyThatAskedForIt) {
  const std::string response = Complete(kWard);
  const absl::Status foreign = Rate(kLab, response);
  const absl::Status missing = Rate(kLab, "no-such-response");
  EXPECT_EQ(ReasonOf(foreign), reasons::kUnknownResponse);
  EXPECT_EQ(ReasonOf(missing), reasons::kUnknownResponse);
  EXPECT_TRUE(absl::IsNotFound(foreign));
  EXPECT_TRUE(Rate(kWard, response).ok());
  EXPECT_TRUE(Rate(kBoss, response).ok()) << "an admin may";
}

// Two clients may give two people one id.
TEST_F(NodeKeysTest, AUserOfOneKeyIsAnotherPersonThanThatOfAnother) {
  const std::string ward = Complete(kWard);
  const std::string lab = Complete(kLab);
  ASSERT_TRUE(Rate(kWard, ward).ok());
  client::NodeClient boss = Client(kBoss);
  node::v1::EraseUserRequest erase;
  erase.set_user_id("lab:ann");
  ASSERT_TRUE(boss.Call<node::v1::EraseUserResponse>(erase).ok());
  EXPECT_TRUE(Rate(kWard, ward).ok()) << "ann of the ward was not erased";
  EXPECT_EQ(ReasonOf(Rate(kLab, lab)), reasons::kUnknownResponse);
}

TEST_F(NodeKeysTest, AReachedLimitNamesTheKeyAndOthersGoOn) {
  const std::string response = Complete(kRare);
  ASSERT_TRUE(Rate(kRare, response).ok());
  const absl::Status refused = Rate(kRare, response);
  EXPECT_EQ(ReasonOf(refused), reasons::kKeyLimit);
  EXPECT_THAT(MessageOf(refused), HasSubstr("the key rare may use 2 requests a minute"));
  Complete(kWard);
}

// The tokens of a completion are charged where it is served, and a watch runs as long as it is
// open.
TEST_F(NodeKeysTest, TokensAndOpenWatchesCount) {
  Complete(kFew);
  const absl::Status owed = Rate(kFew, "x");
  EXPECT_EQ(ReasonOf(owed), reasons::kKeyLimit);
  EXPECT_THAT(MessageOf(owed), HasSubstr("3 tokens a minute"));

  grpc::SslCredentialsOptions trusting;
  trusting.pem_root_certs = certificate_.certificate;
  const auto stub = pattern::v1::PatternService::NewStub(
      grpc::CreateChannel(node_->api_address(), grpc::SslCredentials(trusting)));
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer " + kOne);
  const auto watch = stub->WatchPatterns(&context, {});
  pattern::v1::WatchPatternsResponse started;
  ASSERT_TRUE(watch->Read(&started));
  EXPECT_THAT(MessageOf(Rate(kOne, "x")), HasSubstr("1 requests at a time"));
  context.TryCancel();
  while (watch->Read(&started)) {
  }
  watch->Finish();
  while (ReasonOf(Rate(kOne, "x")) == reasons::kKeyLimit) {
    std::this_thread::yield();
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(ReasonOf(Rate(kOne, "x")), reasons::kUnknownResponse) << "one after the other";
  }
}

TEST_F(NodeKeysTest, ARevokedKeyOpensNothingMore) {
  Complete(kLab);
  Write("keys", test::KeyLine("boss", privacy::roles::kAdmin, kBoss));
  ASSERT_TRUE(node_->ReloadCredentials().ok());
  EXPECT_EQ(ReasonOf(Rate(kLab, "x")), reasons::kCallerUnknown);
  EXPECT_EQ(ReasonOf(Rate(kBoss, "x")), reasons::kUnknownResponse);
}

}  // namespace
}  // namespace ruvd::node
