// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a node says of its health while a part of it does not work.

#include "node/process/node_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/reasons.h"
#include "node/reasons.h"
#include "ruvd/privacy/v1/privacy.grpc.pb.h"
#include "tests/node/process/certified_node_fixture.h"
#include "tests/node/wait_until.h"

namespace ruvd::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kInference[] = "ruvd.inference.v1.InferenceService";
constexpr char kLearning[] = "ruvd.learning.v1.LearningService";
constexpr char kPattern[] = "ruvd.pattern.v1.PatternService";
constexpr char kFederation[] = "ruvd.federation.v1.FederationService";

std::vector<PartHealth> WorkingParts() {
  std::vector<runtime::ActorStats> actors;
  for (const char* name : {"inference", "background", "deep", "memory", "witness", "federation"}) {
    actors.push_back({.name = name});
  }
  return PartsOf(actors, storage::StoreHealth::kOk, absl::OkStatus(), absl::OkStatus());
}

TEST(NodeHealth, APartIsAnActorTheStoreOrAFederationThatDidNotStart) {
  runtime::ActorStats failing{.name = "deep", .failures = 9, .failing = true};
  failing.last_failure = absl::UnavailableError("no disk");
  runtime::ActorStats restarted{.name = "memory", .failures = 1};
  restarted.last_failure = absl::UnavailableError("no disk");
  const auto parts = PartsOf({failing, restarted}, storage::StoreHealth::kReadOnly,
                             Error(absl::StatusCode::kFailedPrecondition,
                                   reasons::kCertificateExpired, "the certificate has ended"),
                             Error(absl::StatusCode::kFailedPrecondition, reasons::kClockWrong,
                                   "the clock is a day ahead"));
  ASSERT_EQ(parts.size(), 5u);
  EXPECT_EQ(parts[0].name, "deep");
  EXPECT_THAT(parts[0].problem, HasSubstr("no disk"));
  EXPECT_EQ(parts[1].problem, "") << "it works again";
  EXPECT_EQ(parts[2].name, kStorePart);
  EXPECT_THAT(parts[2].problem, HasSubstr("free disk space"));
  EXPECT_EQ(parts[3].name, kFederationPart);
  EXPECT_THAT(parts[3].problem, HasSubstr("has ended [CERTIFICATE_EXPIRED]"));
  EXPECT_EQ(parts[4].name, kClockPart);
  EXPECT_THAT(parts[4].problem, HasSubstr("a day ahead [CLOCK_WRONG]"));
}

// Regression test: a balancer took the node out when a copy tool had removed the file, for which
// nothing asked.
TEST(NodeHealth, TheUnixSocketIsNotNeededByTheWholeNode) {
  std::vector<PartHealth> parts = WorkingParts();
  parts.push_back({kSocketPart, "its file leads no caller to it"});
  std::map<std::string, bool> told;
  HealthReport report([&] { return parts; },
                      [&](const std::string& service, bool serving) { told[service] = serving; });
  report.Update();
  EXPECT_TRUE(told.at(""));
  parts.push_back({"port api", "it is deaf"});
  report.Update();
  EXPECT_FALSE(told.at(""));
}

TEST(NodeHealth, OnlyChangesAreReportedAndTheWholeNodeNeedsEveryPart) {
  std::vector<PartHealth> parts = WorkingParts();
  std::map<std::string, bool> told;
  HealthReport report([&] { return parts; },
                      [&](const std::string& service, bool serving) { told[service] = serving; });
  report.Update();
  EXPECT_THAT(told,
              UnorderedElementsAre(Pair("", true), Pair(kInference, true), Pair(kLearning, true),
                                   Pair(kPattern, true), Pair(kFederation, true)));
  told.clear();
  report.Update();
  EXPECT_TRUE(told.empty());

  const auto told_without = [&](const std::string& name) {
    told.clear();
    for (PartHealth& part : parts) {
      part.problem = part.name == name ? "broken" : "";
    }
    report.Update();
    return std::exchange(told, {});
  };
  EXPECT_THAT(told_without("witness"), ElementsAre(Pair("", false)));
  EXPECT_THAT(told_without("federation"), ElementsAre(Pair(kFederation, false)));
  EXPECT_THAT(told_without("inference"),
              UnorderedElementsAre(Pair(kFederation, true), Pair(kInference, false)));
  EXPECT_THAT(
      told_without(kStorePart),
      UnorderedElementsAre(Pair(kInference, true), Pair(kLearning, false), Pair(kPattern, false)));
  EXPECT_THAT(told_without(""),
              UnorderedElementsAre(Pair("", true), Pair(kLearning, true), Pair(kPattern, true)));
  report.Drain();
  EXPECT_EQ(std::exchange(told, {}).size(), 5u);
  report.Update();
  EXPECT_TRUE(told.empty()) << "a node that stops is not well again";
}

class NodeHealthTest : public CertifiedNodeTest {
 protected:
  absl::Status SetConsent(privacy::v1::SharingTier tier) {
    privacy::v1::SetConsentRequest request;
    request.set_tier(tier);
    privacy::v1::SetConsentResponse response;
    grpc::ClientContext context;
    return api::FromRpcStatus(
        privacy::v1::PrivacyService::NewStub(channel_)->SetConsent(&context, request, &response));
  }
};

// Found by a hostile review: the federation of a node with a full disk stopped for good, and the
// node went on to say that it serves.
TEST_F(NodeHealthTest, ANodeWithAFullDiskServesAndSaysWhatDoesNot) {
  const auto authority = privacy::ClusterAuthority::Generate();
  Certify(authority, authority, SystemClock().WallMillis() + kLife / 2);
  Start();
  EXPECT_EQ(Status().node().state(), node::v1::NODE_STATE_SERVING);
  EXPECT_TRUE(Serves(""));
  EXPECT_TRUE(Serves(kFederation));
  config_.storage.reserve_bytes = 1ULL << 60;
  Restart();
  ASSERT_TRUE(test::WaitUntil([&] { return !ProblemOf("federation").empty(); }));
  EXPECT_THAT(ProblemOf("federation"), HasSubstr("started again"));
  EXPECT_THAT(ProblemOf(kStorePart), HasSubstr("disk"));
  EXPECT_EQ(ProblemOf("inference"), "");
  EXPECT_EQ(Status().node().state(), node::v1::NODE_STATE_DEGRADED);
  EXPECT_TRUE(test::WaitUntil([&] { return !Serves(kFederation); }));
  EXPECT_FALSE(Serves(""));
  EXPECT_FALSE(Serves(kPattern));
  EXPECT_TRUE(Serves(kInference));
  EXPECT_TRUE(Generate(Request("The old man walked", 8)).status.ok());
  const absl::Status withdrawn = SetConsent(privacy::v1::SHARING_TIER_PRIVATE);
  EXPECT_EQ(ReasonOf(withdrawn), reasons::kStoreReadOnly);
  EXPECT_THAT(MessageOf(withdrawn), HasSubstr("nothing is shared until the node restarts"));

  config_.storage.reserve_bytes = 2 << 20;
  Restart();
  EXPECT_TRUE(test::WaitUntil([&] { return Serves(""); }));
  EXPECT_EQ(ProblemOf("federation"), "");
}

}  // namespace
}  // namespace ruvd::node
