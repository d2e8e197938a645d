// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "base/reasons.h"
#include "base/status.h"
#include "node/local/tour/link_probe.h"
#include "ruvd/node/v1/node.pb.h"
#include "tests/e2e/cluster_fixture.h"

namespace ruvd::cli {
namespace {

using Sharing = ClusterTest;

TEST_F(Sharing, NothingLeavesWithoutConsent) {
  ASSERT_NO_FATAL_FAILURE(StartCluster(2));
  AwaitMembers(0, 2);
  ASSERT_FALSE(Teach(0, TourLessons()[0]).empty());
  const auto status = client(1).Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest());
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->patterns().stored(), 0U);
  EXPECT_TRUE(status->cluster().accepted_items().empty());
  const Output consent = Ruvd(0, {"consent", "status"});
  ASSERT_EQ(consent.code, 0) << consent.errors;
  EXPECT_THAT(consent.text, ::testing::ContainsRegex("shared +0"));
}

TEST_F(Sharing, APeerLearnsAfterConsentAndForgetsAfterIt) {
  ASSERT_NO_FATAL_FAILURE(StartCluster(2));
  AwaitMembers(0, 2);
  const TourLesson& lesson = TourLessons()[0];
  const double before = Loss(1, lesson);
  ASSERT_FALSE(Teach(0, lesson).empty());
  const Output grant = Ruvd(0, {"consent", "grant", "--tier", "public"});
  ASSERT_EQ(grant.code, 0) << grant.errors;
  const auto arrived =
      WaitUntil("the pattern that passed its trial", kEventually, [&]() -> absl::StatusOr<bool> {
        ASSIGN_OR_RETURN(const auto patterns, client::AllPatterns(client(1)));
        return std::ranges::any_of(patterns, [&](const pattern::v1::Pattern& pattern) {
          return pattern.origin() == node(0).id &&
                 pattern.standing() == pattern::v1::PATTERN_STANDING_SERVING;
        });
      });
  ASSERT_TRUE(arrived.ok()) << arrived.status();
  EXPECT_LT(Loss(1, lesson), before);
  const Output revoke = Ruvd(0, {"consent", "revoke"});
  ASSERT_EQ(revoke.code, 0) << revoke.errors;
  const auto gone =
      WaitUntil("the peer without the pattern", kEventually, [&]() -> absl::StatusOr<bool> {
        ASSIGN_OR_RETURN(const size_t count, PatternsFrom(1, node(0).id));
        return count == 0;
      });
  EXPECT_TRUE(gone.ok()) << gone.status();
}

TEST_F(Sharing, ForgedAndReplayedEnvelopesAreCounted) {
  ASSERT_NO_FATAL_FAILURE(StartCluster(1));
  const auto probe = LinkProbe::Open(node(0).federation, cluster().authority(), Model());
  ASSERT_TRUE(probe.ok()) << probe.status();
  const auto expect_refusal = [&](const char* reason, const absl::Status& sent) {
    ASSERT_TRUE(sent.ok()) << sent;
    const auto counted = WaitUntil(reason, kEventually, [&]() -> absl::StatusOr<bool> {
      ASSIGN_OR_RETURN(const auto status,
                       client(0).Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()));
      return status.cluster().refused_envelopes().contains(reason);
    });
    EXPECT_TRUE(counted.ok()) << counted.status();
  };
  expect_refusal(reasons::kSignatureInvalid, (*probe)->SendForged());
  expect_refusal(reasons::kReplayed, (*probe)->SendReplayed());
  expect_refusal(reasons::kEnvelopeMalformed, (*probe)->SendTruncated());
}

}  // namespace
}  // namespace ruvd::cli
