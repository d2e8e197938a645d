// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a node does whose certificate is missing, foreign, damaged or not valid now.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/authority_files.h"
#include "node/api/rpc_status.h"
#include "node/process/node_files.h"
#include "privacy/consent/consent.h"
#include "ruvd/privacy/v1/privacy.grpc.pb.h"
#include "storage/consent/consent_store.h"
#include "tests/node/process/certified_node_fixture.h"
#include "tests/node/wait_until.h"

namespace ruvd::node {
namespace {

class NodeCertificateTest : public CertifiedNodeTest {
 protected:
  absl::Status StartWith(const privacy::ClusterAuthority& issuer,
                         const privacy::ClusterAuthority& trusted, int64_t not_after_ms) {
    Certify(issuer, trusted, not_after_ms);
    return Node::Start(config_).status();
  }
  std::string CertificateFile() const {
    return fs::path(config_.node.data_dir) / admission::kNodeCertificateFile;
  }
  // Stores the consent of a node that does not run.
  void Store(privacy::ConsentTier tier) {
    const auto files = OpenNodeFiles(config_, SystemClock());
    ASSERT_TRUE(files.ok()) << files.status();
    const auto database = OpenNodeStore(config_, *files->seal_source, SystemClock());
    ASSERT_TRUE(database.ok()) << database.status();
    ASSERT_TRUE(storage::ConsentStore(**database)
                    .Set(privacy::ConsentRecord::Sign(tier, SystemClock().WallMillis(), files->key))
                    .ok());
  }
  privacy::v1::SharingTier Consent() {
    privacy::v1::GetConsentResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(privacy::v1::PrivacyService::NewStub(channel_)
                    ->GetConsent(&context, privacy::v1::GetConsentRequest(), &response)
                    .ok());
    return response.tier();
  }
  absl::Status SetConsent(privacy::v1::SharingTier tier,
                          privacy::v1::SetConsentResponse* response) {
    privacy::v1::SetConsentRequest request;
    request.set_tier(tier);
    grpc::ClientContext context;
    return api::FromRpcStatus(
        privacy::v1::PrivacyService::NewStub(channel_)->SetConsent(&context, request, response));
  }
};

// Found by a hostile review: a power cut and a board without a clock, or a month without the
// authority, kept a node from serving its own users.
TEST_F(NodeCertificateTest, WithoutAUsableCertificateTheNodeServesAlone) {
  const auto authority = privacy::ClusterAuthority::Generate();
  const int64_t now_ms = SystemClock().WallMillis();
  const auto alter = [&](const std::function<void(std::string&)>& change) {
    Certify(authority, authority, now_ms + kLife / 2);
    std::string bytes = ReadFile(CertificateFile(), 1 << 16).value();
    change(bytes);
    EXPECT_TRUE(WriteFileAtomically(CertificateFile(), bytes).ok());
  };
  const std::vector<std::pair<std::string, std::function<void()>>> cases = {
      {reasons::kCertificateExpired, [&] { Certify(authority, authority, now_ms - 3'600'000); }},
      {reasons::kCertificateExpired, [&] { Certify(authority, authority, now_ms + 3'600'000); }},
      {reasons::kCertificateInvalid, [&] { alter([](std::string& bytes) { bytes.pop_back(); }); }},
      {reasons::kSignatureInvalid, [&] { alter([](std::string& bytes) { bytes.back() ^= 1; }); }}};
  for (const auto& [reason, damage] : cases) {
    damage();
    Store(privacy::ConsentTier::kPublic);
    Start();
    EXPECT_THAT(ProblemOf("federation"), ::testing::HasSubstr(reason));
    EXPECT_EQ(Status().node().state(), node::v1::NODE_STATE_DEGRADED);
    EXPECT_EQ(node_->federation_address(), "");
    EXPECT_TRUE(Generate(Request("The old man walked", 4)).status.ok());
    EXPECT_EQ(Consent(), privacy::v1::SHARING_TIER_PUBLIC) << "as agreed before";
    privacy::v1::SetConsentResponse answer;
    EXPECT_EQ(ReasonOf(SetConsent(privacy::v1::SHARING_TIER_DP, &answer)), reason);
    EXPECT_TRUE(SetConsent(privacy::v1::SHARING_TIER_PRIVATE, &answer).ok());
    EXPECT_THAT(answer.residual(), ::testing::HasSubstr("until it federates again"));
    EXPECT_EQ(Consent(), privacy::v1::SHARING_TIER_PRIVATE);
    Certify(authority, authority, now_ms + kLife / 2);
    ASSERT_TRUE(node_->ReloadCredentials().ok());
    EXPECT_TRUE(test::WaitUntil(
        [&] { return ProblemOf("federation").find("restart this node") != std::string::npos; }));
    Restart();
    EXPECT_EQ(ProblemOf("federation"), "");
    EXPECT_EQ(Consent(), privacy::v1::SHARING_TIER_PRIVATE);
    node_.reset();
  }
}

// Without its office the members of the cluster could not renew, and it would end unnoticed.
TEST_F(NodeCertificateTest, TheAuthoritysNodeDoesNotServeAlone) {
  const auto authority = privacy::ClusterAuthority::Generate();
  Certify(authority, authority, SystemClock().WallMillis() - 3'600'000);
  ASSERT_TRUE(
      WriteFileAtomically(fs::path(config_.node.data_dir) / admission::kAuthorityKeyFile, "key")
          .ok());
  const absl::Status status = Node::Start(config_).status();
  EXPECT_EQ(ReasonOf(status), reasons::kCertificateExpired);
  EXPECT_THAT(MessageOf(status), ::testing::HasSubstr("ruvd cert issue"));
}

TEST_F(NodeCertificateTest, AForeignCertificateIsNamed) {
  EXPECT_EQ(
      ReasonOf(StartWith(privacy::ClusterAuthority::Generate(),
                         privacy::ClusterAuthority::Generate(), SystemClock().WallMillis() + 500)),
      reasons::kCertificateForeign);
}

// As on a full disk, the file cannot be written: a folder is in its place.
TEST_F(NodeCertificateTest, ANodeThatCannotKeepItsTlsKeyServesAndLinksToNobody) {
  const auto authority = privacy::ClusterAuthority::Generate();
  Certify(authority, authority, SystemClock().WallMillis() + kLife / 2);
  fs::create_directories(fs::path(config_.node.data_dir) / "link-tls.pem" / "in-the-way");
  Start();
  EXPECT_NE(ProblemOf("federation"), "");
  EXPECT_TRUE(Serves("ruvd.inference.v1.InferenceService"));
  EXPECT_EQ(node_->federation_address(), "") << "and not in plain text either";
}

TEST_F(NodeCertificateTest, NoCertificateNamesTheCommandThatMakesOne) {
  config_.federation.enabled = true;
  const absl::Status status = Node::Start(config_).status();
  EXPECT_EQ(ReasonOf(status), reasons::kFileNotFound);
  EXPECT_NE(MessageOf(status).find("ruvd cert issue"), std::string::npos);
}

}  // namespace
}  // namespace ruvd::node
