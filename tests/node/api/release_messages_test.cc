// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what operators and users are told about releases.

#include "node/api/release_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/cli/release_fields.h"
#include "privacy/consent/withdrawal.h"

namespace ruvd::api {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

sharing::FederationView ViewOfReleases(privacy::ConsentTier tier) {
  sharing::FederationView view;
  view.tier = tier;
  view.release.emplace();
  view.release->set_delta(1e-6);
  view.release->set_spent_epsilon(1.5);
  view.release->set_releases(2);
  return view;
}

// The ledger has centroids and contributions of a lesson in one account, so that the release of the
// view counts both.
TEST(ResidualOfTest, CountsNoCentroidTwice) {
  sharing::FederationView view = ViewOfReleases(privacy::ConsentTier::kDp);
  view.plain_shared = true;
  view.centroids.emplace();
  view.centroids->set_enabled(true);
  view.centroids->set_spent_epsilon(1.5);
  view.centroids->set_releases(1);
  const privacy::ResidualPrivacy residual = ResidualOf(view);
  EXPECT_EQ(residual.releases, 2u);
  EXPECT_EQ(residual.epsilon, 1.5);
  EXPECT_EQ(residual.delta, 1e-6);
  EXPECT_TRUE(residual.plain);
  EXPECT_FALSE(residual.sums);
  EXPECT_THAT(privacy::ResidualStatement(residual),
              AllOf(HasSubstr("2 noised release(s)"), HasSubstr("epsilon 1.500"),
                    Not(HasSubstr("masked sum"))));
}

// Regression test: this was said under the tier masked only, and about noised updates that no sum
// holds.
TEST(ResidualOfTest, SaysThatMaskedSumsStayAsTheyAreWhereOneWasPaidFor) {
  sharing::FederationView view = ViewOfReleases(privacy::ConsentTier::kMasked);
  EXPECT_THAT(ResidualText(view),
              AllOf(HasSubstr("2 noised release(s)"), Not(HasSubstr("masked sum"))));
  view = ViewOfReleases(privacy::ConsentTier::kPrivate);
  view.release->set_sums(true);
  EXPECT_THAT(ResidualText(view), AllOf(HasSubstr("2 noised release(s)"), HasSubstr("masked sum"),
                                        HasSubstr("stays as it is")));
  sharing::FederationView none = view;
  none.release->set_releases(0);
  EXPECT_THAT(ResidualText(none), HasSubstr("Nothing was released"));
}

// Regression test: "Nothing was released" was said about a ledger that could not be read.
TEST(ResidualOfTest, ALedgerThatIsBrokenIsNoEmptyOne) {
  sharing::FederationView view = ViewOfReleases(privacy::ConsentTier::kPrivate);
  view.release->set_releases(0);
  view.release->set_unknown("the ledger is broken");
  EXPECT_THAT(ResidualText(view),
              AllOf(HasSubstr("is not known"), HasSubstr("the ledger is broken"),
                    Not(HasSubstr("Nothing was")), Not(HasSubstr("Plain items"))));
  view.plain_shared = true;
  EXPECT_THAT(ResidualText(view), HasSubstr("Plain items left"));
}

TEST(CentroidFieldsTest, AreThereWhereCentroidsAreOnOrHaveLeft) {
  admin::v1::CentroidStatus status;
  EXPECT_THAT(cli::CentroidFields(status), IsEmpty());
  status.set_enabled(true);
  status.set_epsilon(4);
  status.set_delta(1e-6);
  status.set_examples(50);
  status.set_spent_epsilon(5);
  status.set_budget_epsilon(20);
  status.set_releases(2);
  auto fields = cli::CentroidFields(status);
  ASSERT_EQ(fields.size(), 3u);
  EXPECT_THAT(fields[0].second, AllOf(HasSubstr("epsilon 4.000"), HasSubstr("more than 50")));
  EXPECT_THAT(fields[1].second, HasSubstr("epsilon 5.000 of 20.000 in 2 release(s)"));
  EXPECT_EQ(fields[2].second, "no");
  status.set_enabled(false);
  status.set_refusal("no");
  fields = cli::CentroidFields(status);
  ASSERT_EQ(fields.size(), 3u);
  EXPECT_THAT(fields[0].second, HasSubstr("off"));
  EXPECT_THAT(fields[2].second, HasSubstr("no ["));
}

}  // namespace
}  // namespace ruvd::api
