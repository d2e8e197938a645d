// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests joining by a token and leaving by revocation, at running nodes.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/reasons.h"
#include "node/admission/admission_controller.h"
#include "node/admission/authority_files.h"
#include "node/admission/identity.h"
#include "node/admission/join.h"
#include "node/admission/link_tls.h"
#include "node/admission/revocation_file.h"
#include "node/api/admission_service.h"
#include "node/program/program.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "ruvd/admission/v1/admission.grpc.pb.h"
#include "ruvd/node/v1/node.pb.h"
#include "tests/node/link_party.h"
#include "tests/node/process/node_join_fixture.h"

namespace ruvd::node {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(NodeJoinTest, ATokenMakesAMemberThatLinks) {
  Start();
  EXPECT_THAT(Join("b", Token()), HasSubstr("next: ruvd serve"));
  const auto written =
      config::LoadConfig(fs::path(DataOf("b")) / admission::kConfigFile, {}, {}, nullptr);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_TRUE(written->federation.enabled);
  EXPECT_EQ(written->federation.authority, ToHex(authority_));
  EXPECT_EQ(written->federation.seeds, std::vector<std::string>{node_->federation_address()});
  StartOther("b", node_->federation_address());
  EXPECT_TRUE(AwaitAlive(*node_, 2));
  // Over TLS the connection of the member is proven, and it ends with the link.
  const auto port = [&] {
    const node::v1::GetStatusResponse status = StatusOf(*node_);
    return status.ports(1);
  };
  EXPECT_TRUE(test::WaitUntil([&] { return port().connections() == 1 && port().unproven() == 0; }));
  others_.clear();
  EXPECT_TRUE(test::WaitUntil([&] { return port().connections() == 0; }));
}

// Regression test: a member was out of the cluster when its certificate expired, 30 days after it
// had joined, unless its operator had got another token.
TEST_F(NodeJoinTest, ACertificateThatIsDueIsRenewedWhileTheNodeRuns) {
  Start();
  Join("b", Token());
  const fs::path path = fs::path(DataOf("b")) / admission::kNodeCertificateFile;
  const auto stored = [&] {
    return privacy::AdmissionCert::Parse(AsBytes(ReadFile(path, 4096).value())).value();
  };
  const privacy::AdmissionCert joined = stored();
  const privacy::ClusterAuthority authority = Authority();
  const int64_t now_ms = SystemClock().WallMillis();
  const auto due = authority.Issue({.node_key = joined.node_key,
                                    .name = joined.name,
                                    .roles = joined.roles,
                                    .not_before_ms = now_ms - 10 * kHour,
                                    .not_after_ms = now_ms + kHour,
                                    .serial = 5});
  ASSERT_TRUE(WriteFileAtomically(path, due.value().Encode()).ok());
  const Node& other = StartOther("b", node_->federation_address());
  EXPECT_TRUE(test::WaitUntil([&] { return CertificateEndOf(other) > now_ms + 2 * kHour; }));
  EXPECT_TRUE(test::WaitUntil([&] { return stored().not_after_ms > now_ms + 2 * kHour; }));
  EXPECT_EQ(stored().roles, joined.roles);
  EXPECT_EQ(stored().name, "b");
  EXPECT_EQ(CertificateEndOf(other), stored().not_after_ms);
  EXPECT_TRUE(AwaitAlive(*node_, 2));
}

TEST_F(NodeJoinTest, AnOperatorRenewsACertificateAndTheNodeTakesItOnAReload) {
  Start();
  Join("b", Token());
  Node& other = StartOther("b", node_->federation_address());
  const int64_t before = CertificateEndOf(other);
  ASSERT_GT(before, 0);
  EXPECT_THAT(Run({"cert", "renew", node_->federation_address(), "--data-dir", DataOf("b")}, 0),
              HasSubstr("member until"));
  ASSERT_TRUE(other.ReloadCredentials().ok());
  EXPECT_TRUE(test::WaitUntil([&] { return CertificateEndOf(other) > before; }));
  // A node that is no authority does not renew, and a revoked member gets no renewal.
  EXPECT_THAT(Run({"cert", "renew", other.federation_address(), "--data-dir", DataOf("b")}, 1),
              HasSubstr("[NOT_FOUND]"));
  Run({"revoke", other.id()}, 0);
  EXPECT_TRUE(test::WaitUntil([&] { return ListOf("data").number == 2u; }));
  EXPECT_THAT(Run({"cert", "renew", node_->federation_address(), "--data-dir", DataOf("b")}, 4),
              HasSubstr("is revoked there or has expired"));
  EXPECT_TRUE(AwaitRefusedAtTheGate(*node_, reasons::kNodeRevoked));
}

TEST_F(NodeJoinTest, ATokenAdmitsOneNodeAlsoAfterARestart) {
  Start();
  const std::string token = Token();
  const std::string kept = ReadFile(fs::path(DataOf("data")) / "join-tokens", 1 << 20).value();
  EXPECT_THAT(kept, Not(HasSubstr(token.substr(10, 64)))) << "its hash only";
  Join("b", token);
  EXPECT_THAT(Join("c", token, 4), HasSubstr("[TOKEN_USED]"));
  Restart();
  EXPECT_THAT(Join("d", token, 4), HasSubstr("[TOKEN_USED]"));
  EXPECT_FALSE(fs::exists(fs::path(DataOf("d")) / admission::kNodeCertificateFile));
}

TEST_F(NodeJoinTest, OfManyThatComeWithOneTokenAtOnceOneIsAdmitted) {
  Start();
  for (int round = 0; round < 4; ++round) {
    const std::string token = Token();
    std::vector<absl::Status> outcomes(8);
    std::vector<std::thread> threads;
    threads.reserve(outcomes.size());
    for (absl::Status& outcome : outcomes) {
      threads.emplace_back([&] {
        outcome = JoinBy(node_->federation_address(), token, privacy::NodeKey::Generate()).status();
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(std::ranges::count_if(outcomes, &absl::Status::ok), 1);
    for (const absl::Status& outcome : outcomes) {
      EXPECT_TRUE(outcome.ok() || ReasonOf(outcome) == reasons::kTokenUsed) << outcome;
    }
  }
}

TEST_F(NodeJoinTest, WhatKeepsANodeFromJoiningIsNamed) {
  Start();
  const std::string token = Token();
  EXPECT_THAT(Join("b", token.substr(0, 80), 1), HasSubstr("is incomplete"));
  std::string other = token;
  other[20] = other[20] == '0' ? '1' : '0';
  EXPECT_THAT(Join("b", other, 4), HasSubstr("[TOKEN_INVALID]"));
  std::string elsewhere = token;
  char& last = elsewhere[elsewhere.size() - 9];  // of the cluster's id
  last = last == '0' ? '1' : '0';
  EXPECT_THAT(Join("b", elsewhere, 4), HasSubstr("[CERTIFICATE_FOREIGN]"));
  std::string later = token;
  later.back() = '1';  // as if issuer 1 had made it, so that this node is one that was replaced
  EXPECT_THAT(Join("b", later, 4), HasSubstr("[ISSUER_ENDED]"));
  EXPECT_THAT(Run({"join", node_->api_address(), "--token", token, "--data-dir", DataOf("b"),
                   "--name", "b"},
                  3),
              HasSubstr("federation.listen"));
  EXPECT_THAT(Run({"join", node_->federation_address(), "--token", token, "--data-dir", DataOf("b"),
                   "--name", "two words"},
                  1),
              HasSubstr("1 to 32 printable characters"));
  EXPECT_THAT(Run({"token", "create", "--expires", "2d"}, 1), HasSubstr("at most 24 hours"));
  Join("b", token);  // none of these attempts used the token up
  Node& member = StartOther("b", node_->federation_address());
  EXPECT_THAT(
      MessageOf(JoinBy(member.federation_address(), token, privacy::NodeKey::Generate()).status()),
      HasSubstr("does not hold the authority's key"));
}

// A member that stands before the authority, or pretends to be it. Strangers cannot even do that:
// the TLS of a node that joins opens to members only.
class FalseAuthority final : public admission::v1::AdmissionService::Service {
 public:
  using Stream = grpc::ServerReaderWriter<admission::v1::JoinResponse, admission::v1::JoinRequest>;

  // Answers a greeting; everything else that arrives is only recorded.
  using Answer = std::function<admission::v1::JoinResponse(const admission::v1::Greeting&)>;
  explicit FalseAuthority(Answer answer) : answer_(std::move(answer)) {}

  grpc::Status Join(grpc::ServerContext*, Stream* stream) override {
    stream->SendInitialMetadata();
    admission::v1::JoinRequest request;
    while (stream->Read(&request)) {
      saw_token = saw_token || request.has_application();
      stream->Write(answer_(request.greeting()));
    }
    return grpc::Status::OK;
  }
  std::atomic<bool> saw_token = false;

 private:
  const Answer answer_;
};

class FalseAuthorityTest : public NodeJoinTest {
 protected:
  // Returns what a node that joins at the false authority, a member of the cluster of `issuer`, is
  // told.
  std::string Meet(const privacy::ClusterAuthority& issuer, FalseAuthority::Answer answer) {
    FalseAuthority service(std::move(answer));
    const auto tls = test::Member(issuer).LinkTlsAt(folder_ / "false.pem");
    tls->gate().AdmitApplicants([](const auto&, const Digest&) { return true; });
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", tls->server_credentials(), &port);
    builder.RegisterService(&service);
    const auto server = builder.BuildAndStart();
    const auto joined =
        JoinBy("127.0.0.1:" + std::to_string(port), Token(), privacy::NodeKey::Generate());
    server->Shutdown();
    EXPECT_FALSE(service.saw_token) << "the token is for the authority alone";
    return ReasonOf(joined.status());
  }
};

TEST_F(FalseAuthorityTest, NeverSeesTheToken) {
  Start();
  const auto answer_of = [](const privacy::JoinWelcome& welcome) {
    admission::v1::JoinResponse response;
    response.mutable_welcome()->set_issuer(welcome.issuer.Encode());
    response.mutable_welcome()->set_proof(std::string(AsText(welcome.proof)));
    return response;
  };
  const auto unsigned_welcome = [&](const admission::v1::Greeting&) {
    return answer_of({.issuer = Authority().issuer(), .proof = {}});
  };
  EXPECT_EQ(Meet(Authority(), unsigned_welcome), reasons::kSignatureInvalid);
  EXPECT_EQ(Meet(Authority(),
                 [&](const admission::v1::Greeting&) {
                   return answer_of(
                       privacy::JoinWelcome::Sign(privacy::ClusterAuthority::Generate(), {}, {}));
                 }),
            reasons::kCertificateForeign);
  EXPECT_EQ(Meet(Authority(),
                 [](const admission::v1::Greeting&) { return admission::v1::JoinResponse(); }),
            reasons::kInvalidArgument);
  EXPECT_EQ(Meet(privacy::ClusterAuthority::Generate(), unsigned_welcome),
            reasons::kCertificateForeign)
      << "TLS ends at once with a node that is no member of the cluster";
}

TEST_F(FalseAuthorityTest, GetsNoWelcomeFromTheRealOneToPassOn) {
  Start();
  std::atomic<int> refused = 0;
  // The greeting is passed on unchanged, with the certificate of the attacker in between.
  const test::Member attacker(Authority());
  Meet(Authority(), [&](const admission::v1::Greeting& greeting) {
    const auto stub =
        admission::v1::AdmissionService::NewStub(attacker.ChannelTo(node_->federation_address()));
    grpc::ClientContext context;
    const auto stream = stub->Join(&context);
    admission::v1::JoinRequest request;
    *request.mutable_greeting() = greeting;
    admission::v1::JoinResponse response;
    stream->Write(request);
    if (!stream->Read(&response)) {
      refused += ReasonOf(api::FromRpcStatus(stream->Finish())) == reasons::kChannelBinding ? 1 : 0;
      return response;
    }
    context.TryCancel();
    (void)stream->Finish();
    return response;
  });
  EXPECT_EQ(refused, 1);
}

TEST_F(NodeJoinTest, ARevokedNodeIsOutAlsoAfterARestartAndPeersLearnIt) {
  Start();
  Join("b", Token());
  Join("c", Token());
  StartOther("b", node_->federation_address());
  ASSERT_TRUE(test::WaitUntil([&] { return IsLinked(*node_, others_[0]->id()); }));
  EXPECT_THAT(Run({"revoke", "nobody"}, 2), HasSubstr("no member called nobody"));
  EXPECT_THAT(Run({"revoke", others_[0]->id()}, 0), HasSubstr("list 2 names 1 node(s)"));
  EXPECT_TRUE(test::WaitUntil([&] { return !IsLinked(*node_, others_[0]->id()); }));
  // Another member receives the list when its link opens, and refuses b by itself.
  Node& other = StartOther("c", node_->federation_address());
  const privacy::NodeId revoked =
      privacy::NodeKey::LoadOrCreate(fs::path(DataOf("b")) / admission::kNodeKeyFile).value().id();
  EXPECT_TRUE(test::WaitUntil([&] { return ListOf("c").Revokes(revoked); }));
  others_.front().reset();
  StartOther("b", other.federation_address());
  EXPECT_TRUE(AwaitRefusedAtTheGate(other, reasons::kNodeRevoked));
  Restart();
  EXPECT_THAT(Run({"revoke", others_.back()->id()}, 0), HasSubstr("list 2 names 1 node(s)"))
      << "it is still on the list, which needs no new one";
  EXPECT_EQ(ListOf("data").number, 2u);
}

// Found by a security review: joining handed out no list, so an attacker could keep the first one
// from a node for ever.
TEST_F(NodeJoinTest, ANodeHadNoRevocationListBeforeItsFirstLink) {
  EXPECT_EQ(ListOf("data").number, 1u) << "`init` signs it";
  EXPECT_TRUE(ListOf("data").nodes.empty());
  Start();
  Join("b", Token());
  EXPECT_EQ(ListOf("b"), ListOf("data"));
  Run({"revoke", std::string(64, '0')}, 0);
  Run({"cert", "renew", node_->federation_address(), "--data-dir", DataOf("b")}, 0);
  EXPECT_EQ(ListOf("b").number, 2u);
  EXPECT_EQ(ListOf("b"), ListOf("data"));
}

// A node that never got a list, because its certificate came by hand, takes it from its first link.
TEST_F(NodeJoinTest, ANodeWithoutARevocationListTakesItFromItsFirstLink) {
  Start();
  Join("b", Token());
  fs::remove(fs::path(DataOf("b")) / "revocations");
  StartOther("b", node_->federation_address());
  EXPECT_TRUE(AwaitAlive(*node_, 2));
  EXPECT_TRUE(test::WaitUntil([&] { return ListOf("b").number == 1u; }));
}

// Found by a security review: a list above 64 KiB went nowhere. This one is ten times as long.
TEST_F(NodeJoinTest, ALongRevocationListComesWithTheCertificateAndOverLinks) {
  std::vector<privacy::NodeId> many(limits::kMaxRevokedNodes - 1);
  for (size_t i = 0; i < many.size(); ++i) {
    many[i] = {static_cast<uint8_t>(i), static_cast<uint8_t>(i >> 8)};
  }
  const privacy::RevocationList list =
      RevokeNodes(ListOf("data"), many, SystemClock().WallMillis(), Authority()).value();
  ASSERT_TRUE(admission::RevocationFile(DataOf("data")).Store(list, authority_).ok());
  Start();
  Join("b", Token());
  EXPECT_EQ(ListOf("b"), list);
  StartOther("b", node_->federation_address());
  ASSERT_TRUE(AwaitAlive(*node_, 2));
  Run({"revoke", std::string(64, 'f')}, 0);
  EXPECT_TRUE(test::WaitUntil([&] { return ListOf("b").number == list.number + 1; }));
  EXPECT_THAT(Run({"revoke", std::string(64, 'e')}, 1), HasSubstr("[LIMIT_EXCEEDED]"));
}

class AdmissionControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    const auto authority = admission::FoundAuthority(folder_, /*days=*/100, clock_);
    ASSERT_TRUE(authority.ok());
    cluster_ = authority->cluster_id();
    issuer_ = authority->public_key();
    office_ = admission::AdmissionController::Open(folder_, revocations_, clock_).value();
  }
  void TearDown() override { fs::remove_all(folder_); }
  privacy::JoinRequest Request(const admission::Invitation& invitation) const {
    return privacy::JoinRequest::Sign(invitation.text.token, "b", cluster_, key_);
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) /
                           ::testing::UnitTest::GetInstance()->current_test_info()->name();
  admission::RevocationFile revocations_{folder_};
  ManualClock clock_;
  privacy::PublicKey issuer_{};
  privacy::ClusterId cluster_{};
  const privacy::NodeKey key_ = privacy::NodeKey::Generate();
  std::unique_ptr<admission::AdmissionController> office_;
};

TEST_F(AdmissionControllerTest, ATokenEndsWithItsTime) {
  const admission::Invitation invitation = office_->Invite(privacy::roles::kMember, kHour).value();
  EXPECT_EQ(invitation.expires_ms, clock_.WallMillis() + kHour);
  clock_.StepWall(kHour);
  EXPECT_EQ(ReasonOf(office_->Admit(Request(invitation)).status()), reasons::kTokenExpired);
  clock_.StepWall(-1);
  const auto certificate = office_->Admit(Request(invitation));
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  EXPECT_EQ(certificate->certificate.roles, privacy::roles::kMember);
  EXPECT_EQ(certificate->revocations, revocations_.Load(issuer_).value());
}

TEST_F(AdmissionControllerTest, ARevokedKeyWasAdmittedByATokenThatItUsedUp) {
  const admission::Invitation invitation = office_->Invite(privacy::roles::kMember, kHour).value();
  ASSERT_TRUE(office_->Revoke(key_.id()).ok());
  EXPECT_EQ(ReasonOf(office_->Admit(Request(invitation)).status()), reasons::kNodeRevoked);
  const privacy::NodeKey other = privacy::NodeKey::Generate();
  EXPECT_TRUE(
      office_->Admit(privacy::JoinRequest::Sign(invitation.text.token, "other", cluster_, other))
          .ok());
}

TEST_F(AdmissionControllerTest, AListIsSignedAnewBeforeItIsOld) {
  EXPECT_EQ(office_->RefreshRevocations().value().number, 1u) << "there is one from the beginning";
  const privacy::RevocationList first = office_->Revoke(key_.id()).value();
  EXPECT_EQ(office_->RefreshRevocations().value(), first);
  clock_.StepWall(13 * kHour);
  const privacy::RevocationList next = office_->RefreshRevocations().value();
  EXPECT_EQ(next.number, 3u);
  EXPECT_EQ(next.nodes, first.nodes);
  EXPECT_EQ(next.issued_ms, clock_.WallMillis());
  EXPECT_EQ(revocations_.Load(issuer_).value(), next);
}

// The list forgets a node when its certificates have ended, and the authority never does.
TEST_F(AdmissionControllerTest, ARevokedKeyIsRefusedForEver) {
  const privacy::AdmissionCert member =
      office_->Admit(Request(office_->Invite(privacy::roles::kMember, kHour).value()))
          .value()
          .certificate;
  ASSERT_TRUE(office_->Revoke(key_.id()).ok());
  clock_.StepWall(limits::kRevocationLifeMillis + kHour);
  const privacy::RevocationList list = office_->RefreshRevocations().value();
  EXPECT_TRUE(list.nodes.empty());
  EXPECT_TRUE(list.IsUncovered(member));
  for (const bool reopened : {false, true}) {
    if (reopened) {
      office_ = admission::AdmissionController::Open(folder_, revocations_, clock_).value();
    }
    const admission::Invitation again = office_->Invite(privacy::roles::kMember, kHour).value();
    EXPECT_EQ(ReasonOf(office_->Admit(Request(again)).status()), reasons::kNodeRevoked);
    // A certificate that another machine issued for it by mistake is not renewed either.
    const auto authority =
        privacy::ClusterAuthority::Load(folder_ / admission::kAuthorityKeyFile).value();
    const privacy::AdmissionCert stray = authority
                                             .Issue({.node_key = key_.public_key(),
                                                     .name = "b",
                                                     .not_before_ms = clock_.WallMillis(),
                                                     .not_after_ms = clock_.WallMillis() + kHour,
                                                     .serial = 9})
                                             .value();
    EXPECT_EQ(ReasonOf(office_->RenewOwn(stray, key_).status()), reasons::kNodeRevoked);
  }
}

TEST_F(AdmissionControllerTest, ATokenIsUsedUpOnDiskBeforeTheCertificateIsGiven) {
  const admission::Invitation invitation = office_->Invite(privacy::roles::kMember, kHour).value();
  const std::string before = ReadFile(folder_ / "join-tokens", 1 << 20).value();
  // The list cannot be replaced: a folder is in its place.
  fs::remove(folder_ / "join-tokens");
  fs::create_directories(folder_ / "join-tokens" / "in-the-way");
  EXPECT_FALSE(office_->Admit(Request(invitation)).ok());
  fs::remove_all(folder_ / "join-tokens");
  EXPECT_EQ(ReasonOf(office_->Admit(Request(invitation)).status()), reasons::kTokenUsed);
  // After a crash before the write the token is unchanged: it has admitted no node.
  ASSERT_TRUE(WriteFileAtomically(folder_ / "join-tokens", before, 0600).ok());
  office_ = admission::AdmissionController::Open(folder_, revocations_, clock_).value();
  EXPECT_TRUE(office_->Admit(Request(invitation)).ok());
  office_ = admission::AdmissionController::Open(folder_, revocations_, clock_).value();
  EXPECT_EQ(ReasonOf(office_->Admit(Request(invitation)).status()), reasons::kTokenUsed);
}

TEST_F(AdmissionControllerTest, DamagedFilesAreNamedAtTheStart) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "join-tokens", "x", 0600).ok());
  EXPECT_EQ(ReasonOf(admission::AdmissionController::Open(folder_, revocations_, clock_).status()),
            reasons::kTokenInvalid);
  ASSERT_TRUE(WriteFileAtomically(folder_ / "revoked-nodes", "x").ok());
  EXPECT_EQ(ReasonOf(office_->Revoke(privacy::NodeId{1}).status()), reasons::kRevocationInvalid);
  ASSERT_TRUE(WriteFileAtomically(folder_ / "revocations", "x").ok());
  EXPECT_EQ(ReasonOf(revocations_.Load(issuer_).status()), reasons::kRevocationInvalid);
}

TEST_F(AdmissionControllerTest, ListsGrowAndOutliveTheProcess) {
  EXPECT_EQ(revocations_.Load(issuer_).value().number, 0u);
  EXPECT_EQ(office_->Revoke(privacy::NodeId{1}).value().number, 1u);
  EXPECT_EQ(office_->Revoke(privacy::NodeId{1}).value().number, 1u);
  EXPECT_EQ(office_->Revoke(privacy::NodeId{2}).value().number, 2u);
  const privacy::RevocationList list = revocations_.Load(issuer_).value();
  EXPECT_TRUE(list.Revokes(privacy::NodeId{1}));
  EXPECT_TRUE(list.Revokes(privacy::NodeId{2}));
  EXPECT_FALSE(list.Revokes(privacy::NodeId{3}));
}

// The node's own federation receives a list after the office has made the next one.
TEST_F(AdmissionControllerTest, AnOlderListDoesNotTakeThePlaceOfANewerOne) {
  const privacy::RevocationList first = office_->Revoke(privacy::NodeId{1}).value();
  const privacy::RevocationList second = office_->Revoke(privacy::NodeId{2}).value();
  ASSERT_TRUE(revocations_.Store(first, issuer_).ok());
  EXPECT_EQ(revocations_.Load(issuer_).value(), second);
}

}  // namespace
}  // namespace ruvd::node
