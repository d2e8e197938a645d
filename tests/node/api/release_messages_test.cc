// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what operators and users are told about releases.

#include "node/api/release_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "privacy/consent/withdrawal.h"

namespace ruvd::api {
namespace {

using testing::AllOf;
using testing::HasSubstr;
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

TEST(ResidualOfTest, SaysWhatNoisedReleasesCost) {
  sharing::FederationView view = ViewOfReleases(privacy::ConsentTier::kDp);
  view.plain_shared = true;
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

}  // namespace
}  // namespace ruvd::api
