// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the sharing tiers of a running node: what its operator may choose, what a release costs,
// what users are told.

#include <gmock/gmock.h>

#include <sstream>
#include <string>
#include <vector>

#include "node/process/privacy_counter.h"
#include "node/program/program.h"
#include "privacy/reasons.h"
#include "tests/node/process/federated_node_fixture.h"

namespace ruvd::node {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class NodeReleaseTest : public FederatedNodeTest {
 protected:
  int Run(std::vector<std::string> arguments) {
    out_.str("");
    err_.str("");
    cli::CommandContext context{.out = out_, .err = err_, .environment = {}};
    arguments.insert(arguments.end(), {"--server", node_->api_address()});
    return RunProgram(arguments, context);
  }

  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(NodeReleaseTest, AReleaseIsChargedOnceAndTheChargeOutlivesTheNode) {
  AllowReleases();
  Start();
  Teach("", kLesson);
  ASSERT_EQ(Run({"consent", "grant", "--tier", "dp"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("tier dp: 1 items"), HasSubstr("predicted SNR"),
                                HasSubstr("1 release(s)")));
  const double spent = Release().spent_epsilon();
  EXPECT_GT(spent, 0);
  EXPECT_EQ(Release().releases(), 1u);
  EXPECT_GE(Release().predicted_snr(), 1);
  EXPECT_EQ(Release().refusal(), "");
  EXPECT_TRUE(fs::exists(PrivacyCounterFileOf(config_)));
  Restart();
  EXPECT_EQ(Release().releases(), 1u) << "what was paid for is offered again, for nothing";
  EXPECT_EQ(Release().spent_epsilon(), spent);
  ASSERT_EQ(Run({"status"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("1 release(s)"));
  EXPECT_EQ(Run({"consent", "revoke"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("sharing is off"), HasSubstr("epsilon")));
  EXPECT_EQ(Run({"consent", "grant", "--tier", "dp"}), 0) << err_.str();
  EXPECT_EQ(Release().spent_epsilon(), spent) << "the interval is not over";
}

TEST_F(NodeReleaseTest, AReleaseOfMoreNoiseThanSignalIsRefusedAndTheNodeGoesOn) {
  config_.privacy.release_seconds = 1;
  Start();
  Teach("", kLesson);
  ASSERT_EQ(Run({"consent", "grant", "--tier", "dp"}), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("tier dp: 0 items"), HasSubstr("SIGNAL_TOO_WEAK"),
                    HasSubstr("allow a larger epsilon"), HasSubstr("node(s) instead of 1"),
                    HasSubstr("hides little"), HasSubstr("the unit is the node")));
  EXPECT_EQ(Release().refusal_reason(), reasons::kSignalTooWeak);
  EXPECT_EQ(Release().spent_epsilon(), 0);
  EXPECT_TRUE(Generate(Request("The lighthouse", 4)).status.ok());
  EXPECT_EQ(Run({"privacy", "preview"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("no: the release's predicted signal"),
                                HasSubstr("Nothing was charged")));
}

TEST_F(NodeReleaseTest, AShareOfAMaskedSumIsPreviewedAndPredictedForASumOfFour) {
  AllowReleases();
  Start();
  Teach("", kLesson);
  ASSERT_EQ(Run({"consent", "grant", "--tier", "masked"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("tier masked: 0 items"), HasSubstr("over 4 node(s)")));
  ASSERT_EQ(Run({"privacy", "preview"}), 0) << err_.str();
  // The share has 64 bytes of values after 111 other bytes.
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("yes"), HasSubstr("a share of 175 bytes"),
                                HasSubstr("16 values"), HasSubstr("Nothing was charged")));
  ASSERT_EQ(Run({"status"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("masked round"), HasSubstr("0 sum(s) count")));
  EXPECT_EQ(Release().releases(), 0u) << "a node alone adds up nothing";
  Restart();
  EXPECT_EQ(Consent().tier(), pattern::v1::SHARING_TIER_MASKED);
}

TEST_F(NodeReleaseTest, AMaskedSumOfMoreNoiseThanSignalIsRefusedInThePreview) {
  Start();
  Teach("", kLesson);
  ASSERT_EQ(Run({"privacy", "preview", "--tier", "masked"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("no: the release's predicted signal"),
                                HasSubstr("would suffice"), HasSubstr("hides little")));
  EXPECT_EQ(Consent().tier(), pattern::v1::SHARING_TIER_PRIVATE);
}

// Regression test: no status showed what centroids cost a lesson.
TEST_F(NodeReleaseTest, TheStatusShowsNoisedCentroidsWhereTheyAreOn) {
  Start();
  const std::vector<std::vector<std::string>> verbs = {{"status"}, {"consent", "status"}};
  for (const std::vector<std::string>& verb : verbs) {
    ASSERT_EQ(Run(verb), 0) << err_.str();
    EXPECT_THAT(out_.str(), Not(HasSubstr("noised centroids")));
  }
  config_.privacy.centroids = true;
  Restart();
  for (const std::vector<std::string>& verb : verbs) {
    ASSERT_EQ(Run(verb), 0) << err_.str();
    EXPECT_THAT(out_.str(), AllOf(HasSubstr("noised centroids"), HasSubstr("spent on a lesson"),
                                  HasSubstr("in 0 release(s)"), HasSubstr("centroids refused")));
  }
  EXPECT_TRUE(Consent().centroids().enabled());
  EXPECT_GT(Consent().centroids().epsilon(), 0);
}

TEST_F(NodeReleaseTest, AScopeThatThePolicyDoesNotListSharesNothing) {
  const std::string policy = folder_ / "policy.toml";
  ASSERT_TRUE(WriteFileAtomically(policy,
                                  "version = 1\n[scope.ward]\ntiers = [\"dp\"]\n"
                                  "purposes = [\"training\", \"sharing\"]\n")
                  .ok());
  config_.privacy.policy = policy;
  Start();
  for (const char* tier : {"dp", "public"}) {
    EXPECT_NE(Run({"consent", "grant", "--tier", tier}), 0);
    EXPECT_THAT(err_.str(), HasSubstr(reasons::kScopeUnknown));
  }
  config_.privacy.scope = "ward";
  Restart();
  EXPECT_EQ(Run({"consent", "grant", "--tier", "dp"}), 0) << err_.str();
  EXPECT_NE(Run({"consent", "grant", "--tier", "public"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr(reasons::kPolicyRefuses));
  config_.privacy.policy = "/there/is/none.toml";
  Restart();
  ASSERT_EQ(Run({"consent", "status"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("private")) << "a policy that cannot be read allows nothing";
}

TEST_F(NodeReleaseTest, APreviewShowsWhatWouldLeaveAndChargesNothing) {
  AllowReleases();
  Start();
  Teach("", kLesson);
  ASSERT_EQ(Run({"privacy", "preview"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("under tier private nothing leaves"));
  ASSERT_EQ(Run({"privacy", "preview", "--tier", "dp"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("would leave"), HasSubstr("yes"),
                                HasSubstr("16 values of 4 bytes"), HasSubstr("default"),
                                HasSubstr("do not exist yet"), HasSubstr("predicted SNR")));
  ASSERT_EQ(Run({"privacy", "preview", "--tier", "public"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("payload of"), Not(HasSubstr("do not exist yet"))));
  EXPECT_EQ(Release().releases(), 0u);
  EXPECT_EQ(Release().spent_epsilon(), 0);
  EXPECT_EQ(Consent().bytes_shared(), 0u);
}

TEST_F(NodeReleaseTest, WhatAUserTaughtLeavesWithConsentOnlyAndIsTakenBackWithIt) {
  AllowReleases();
  // A core of one lesson does not always give a gain, and without one nothing is shared.
  tuning_.background.min_improvement = -1;
  Start();
  Teach("alice", kLesson);
  ASSERT_EQ(Run({"consent", "grant", "--tier", "dp"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("tier dp: 0 items"));
  EXPECT_EQ(Release().releases(), 0u);
  EXPECT_EQ(Run({"consent", "allow", "--tier", "dp"}), 2) << "whose?";
  ASSERT_EQ(Run({"consent", "allow", "--user", "alice", "--tier", "dp", "--days", "30"}), 0)
      << err_.str();
  ASSERT_EQ(Run({"consent", "list"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("user alice"), HasSubstr("training, sharing")));
  // Consent is checked when the core is trained: what was learned before has none.
  Teach("alice", kOtherLesson);
  ASSERT_EQ(Run({"consent", "grant", "--tier", "dp"}), 0) << err_.str();
  EXPECT_EQ(Release().releases(), 1u) << Release().refusal();
  ASSERT_EQ(Run({"consent", "withdraw", "--user", "alice"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("1 items are no longer offered"), HasSubstr("epsilon")));
  ASSERT_EQ(Run({"privacy", "preview", "--tier", "dp"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("no: "));
}

}  // namespace
}  // namespace ruvd::node
