// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "node/admission/revocation_file.h"
#include "node/learning/evaluation_lessons.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "ruvd/privacy/v1/privacy.grpc.pb.h"
#include "tests/node/node_fixture.h"
#include "tests/node/wait_until.h"

namespace ruvd::node {

using test::WaitUntil;

inline constexpr char kLesson[] =
    " counted the ships every evening and wrote their names in a book.";
// A document, and bytes of it that make many lessons.
inline constexpr char kDocument[] = "store-format.md";
inline constexpr size_t kGiven = 26'000;

// A node of a cluster for which the test issues certificates, with rounds of two seconds.
class FederatedNodeTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    config_.federation.enabled = true;
    config_.federation.listen = "127.0.0.1:0";
    config_.federation.authority = ToHex(authority_.public_key());
    config_.federation.round_seconds = 2;
    Admit(config_);
  }
  // Makes the data folder of a node, with a key and a certificate for its name.
  void Admit(const config::NodeConfig& config) const {
    const fs::path data(config.node.data_dir);
    ASSERT_TRUE(MakeDataFolder(data).ok());
    const auto key = privacy::NodeKey::LoadOrCreate(data / admission::kNodeKeyFile);
    ASSERT_TRUE(key.ok()) << key.status();
    ASSERT_TRUE(admission::RevocationFile(data)
                    .Refresh(/*age_ms=*/0, SystemClock().WallMillis(), authority_)
                    .ok());
    ASSERT_TRUE(WriteFileAtomically(data / admission::kNodeCertificateFile,
                                    CertificateFor(*key, config.node.name).Encode())
                    .ok());
  }
  // Starts another node of the cluster that dials the first one, or restarts it with its data.
  // `change` may be null.
  std::unique_ptr<Node> StartMember(const std::string& name,
                                    const std::function<void(config::NodeConfig&)>& change) {
    config::NodeConfig config = config_;
    config.node.name = name;
    config.node.data_dir = folder_ / name;
    config.federation.seeds = {node_->federation_address()};
    if (change != nullptr) {
      change(config);
    }
    Admit(config);
    auto member = Node::StartTuned(config, tuning_);
    EXPECT_TRUE(member.ok()) << member.status();
    return member.ok() ? *std::move(member) : nullptr;
  }
  // Lets the node share up to a tier.
  void Grant(privacy::v1::SharingTier tier) {
    privacy::v1::SetConsentRequest request;
    request.set_tier(tier);
    privacy::v1::SetConsentResponse response;
    grpc::ClientContext context;
    const auto status =
        privacy::v1::PrivacyService::NewStub(channel_)->SetConsent(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  privacy::AdmissionCert CertificateFor(const privacy::NodeKey& key,
                                        const std::string& name) const {
    const int64_t now_ms = SystemClock().WallMillis();
    auto certificate = authority_.Issue({.node_key = key.public_key(),
                                         .name = name,
                                         .not_before_ms = now_ms - 60'000,
                                         .not_after_ms = now_ms + 3'600'000,
                                         .serial = 1});
    EXPECT_TRUE(certificate.ok()) << certificate.status();
    return *certificate;
  }
  // Sets rounds in which the noise that hides a lesson at an epsilon of 8 leaves a signal of the
  // lessons of AddManyTexts: one value for each matrix, and one round of each lesson.
  void AllowReleases() {
    config_.federation.contributions = "gradient";
    config_.federation.rank = 1;
    config_.privacy.rounds = 1;
    config_.privacy.noise = 0.8F;
  }
  // A part of one of the project's own documents, in bytes.
  static std::string Document(const std::string& name, size_t begin, size_t end) {
    const auto text = ReadFile(test::SourceDir() + "/docs/" + name, 1 << 20);
    RUVD_CHECK(text.ok() && text->size() > end);
    return text->substr(begin, end - begin);
  }
  // Adds the beginning of a document as texts of the node at an address.
  static void AddText(const std::string& address, const std::string& name, size_t bytes,
                      privacy::v1::SharingTier tier, const std::string& user = "") {
    AddTextOf(address, name, Document(name, 0, bytes), tier, user);
  }
  // Adds a text of this name, which must make more than 20 lessons.
  static void AddTextOf(const std::string& address, const std::string& name,
                        const std::string& text, privacy::v1::SharingTier tier,
                        const std::string& user = "") {
    const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    const auto stub = learning::v1::LearningService::NewStub(channel);
    grpc::ClientContext context;
    learning::v1::AddLessonsResponse response;
    const auto writer = stub->AddLessons(&context, &response);
    learning::v1::AddLessonsRequest request;
    request.mutable_file()->set_name(name);
    request.mutable_file()->set_bytes(text.size());
    request.mutable_file()->set_tier(tier);
    request.mutable_file()->set_user_id(user);
    writer->Write(request);
    request.set_data(text);
    writer->Write(request);
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_GT(response.added(), 20U);
  }
  static void AddManyTexts(const std::string& address, privacy::v1::SharingTier tier,
                           const std::string& user = "") {
    AddText(address, kDocument, 38'000, tier, user);
    AddText(address, "wire-format.md", 34'000, tier, user);
  }
  // Does so on the first node, and waits until a round has begun since. Otherwise a round that
  // begins between two texts takes only some of them, and the next one takes the rest.
  void AddManyTexts(privacy::v1::SharingTier tier, const std::string& user = "") {
    AddManyTexts(node_->api_address(), tier, user);
    const uint64_t running = Status().rounds().round();
    ASSERT_TRUE(WaitUntil([&] { return Status().rounds().round() > running; }));
  }
  // Returns a completion that may teach: some are kept for evaluation, chosen by their ids.
  Completion GenerateLesson(const inference::v1::GenerateRequest& request) {
    Completion completion = Generate(request);
    while (completion.status.ok() &&
           learning::IsEvaluationLesson(completion.finished.response_id())) {
      completion = Generate(request);
    }
    return completion;
  }
  // Corrects a completion and waits until a pattern has learned it.
  void Teach(const std::string& user, const std::string& wanted) {
    auto generate = Request("The lighthouse keeper", 8);
    generate.set_user_id(user);
    const Completion completion = GenerateLesson(generate);
    ASSERT_TRUE(completion.status.ok()) << completion.status;
    learning::v1::SubmitFeedbackRequest request;
    request.set_response_id(completion.finished.response_id());
    request.set_edited_text(wanted);
    learning::v1::SubmitFeedbackResponse response;
    const absl::Status rated = Rate(request, &response);
    ASSERT_TRUE(rated.ok()) << rated;
    ASSERT_TRUE(response.learned()) << response.explanation();
  }
  privacy::v1::GetConsentResponse Consent() {
    privacy::v1::GetConsentResponse response;
    grpc::ClientContext context;
    const auto status = privacy::v1::PrivacyService::NewStub(channel_)->GetConsent(
        &context, privacy::v1::GetConsentRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  privacy::v1::ReleaseStatus Release() { return Consent().release(); }

  const privacy::ClusterAuthority authority_ = privacy::ClusterAuthority::Generate();
};

}  // namespace ruvd::node
