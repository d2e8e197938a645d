// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What commands print about the cost of releases.

#include "node/cli/release_fields.h"

#include <gmock/gmock.h>

#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

privacy::v1::ReleaseStatus Spent() {
  privacy::v1::ReleaseStatus release;
  release.set_noise_multiplier(2);
  release.set_releases(3);
  release.set_spent_epsilon(1.5);
  release.set_budget_epsilon(8);
  release.set_unit(privacy::v1::PRIVACY_UNIT_LESSON);
  return release;
}

// Found by review: epsilon of a masked sum assumes a number of colluders, and nothing said so.
TEST(ReleaseFields, SayHowManyMayColludeWhereMaskedSumsWerePaidFor) {
  privacy::v1::ReleaseStatus release = Spent();
  EXPECT_THAT(ReleaseFields(release), Contains(Pair("spent", HasSubstr("epsilon 1.500 of 8.000"))));
  EXPECT_THAT(ReleaseFields(release), Not(Contains(Key("epsilon holds"))));
  release.set_sums(true);
  EXPECT_THAT(ReleaseFields(release), Contains(Pair("epsilon holds", HasSubstr("rounded up"))));
}

TEST(ReleaseFields, NameTheUnitThatHasSpentMost) {
  privacy::v1::ReleaseStatus release = Spent();
  EXPECT_THAT(ReleaseFields(release), Contains(Pair("spent", HasSubstr("by any one lesson"))));
  release.set_unit(privacy::v1::PRIVACY_UNIT_USER);
  EXPECT_THAT(ReleaseFields(release), Contains(Pair("spent", HasSubstr("by any one user"))));
  release.set_unit(privacy::v1::PRIVACY_UNIT_NODE);
  EXPECT_THAT(ReleaseFields(release), Contains(Pair("spent", HasSubstr("by this node"))));
}

}  // namespace
}  // namespace ruvd::cli
