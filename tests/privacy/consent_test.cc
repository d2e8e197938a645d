// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/consent/consent.h"

#include <gtest/gtest.h>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::privacy {
namespace {

constexpr ShareableKind kKinds[] = {ShareableKind::kMaskedSum, ShareableKind::kDpContribution,
                                    ShareableKind::kContribution, ShareableKind::kPattern};

TEST(Consent, TableOfWhatMayLeave) {
  static_assert(std::size(kKinds) == 4);
  const struct {
    ConsentTier tier;
    bool allowed[4];
  } kTable[] = {{ConsentTier::kPrivate, {false, false, false, false}},
                {ConsentTier::kMasked, {true, false, false, false}},
                {ConsentTier::kDp, {false, true, false, false}},
                {ConsentTier::kPublic, {false, true, true, true}}};
  for (const auto& row : kTable) {
    for (size_t i = 0; i < std::size(kKinds); ++i) {
      EXPECT_EQ(TierAllows(row.tier, kKinds[i]), row.allowed[i]) << TierName(row.tier) << i;
      EXPECT_EQ(ReasonOf(RequireConsent(row.tier, kKinds[i])),
                row.allowed[i] ? "" : reasons::kConsentMissing);
    }
  }
}

TEST(Consent, DefaultAndUnknownTiersArePrivate) {
  EXPECT_EQ(ConsentRecord().tier, ConsentTier::kPrivate);
  for (int number : {0, 5, 255}) {
    for (ShareableKind kind : kKinds) {
      EXPECT_FALSE(TierAllows(static_cast<ConsentTier>(number), kind));
    }
  }
}

TEST(Consent, RecordIsBoundToKeyTierAndTime) {
  const NodeKey key = NodeKey::FromSeed(KeySeed{1});
  const NodeKey other = NodeKey::FromSeed(KeySeed{2});
  const ConsentRecord record = ConsentRecord::Sign(ConsentTier::kDp, 1000, key);
  EXPECT_TRUE(record.Verify(key).ok());
  EXPECT_EQ(ReasonOf(record.Verify(other)), reasons::kSignatureInvalid);
  ConsentRecord raised = record;
  raised.tier = ConsentTier::kPublic;
  EXPECT_EQ(ReasonOf(raised.Verify(key)), reasons::kSignatureInvalid);
  ConsentRecord moved = record;
  moved.since_ms = 999;
  EXPECT_EQ(ReasonOf(moved.Verify(key)), reasons::kSignatureInvalid);
  ConsentRecord unknown = record;
  unknown.tier = static_cast<ConsentTier>(9);
  EXPECT_EQ(ReasonOf(unknown.Verify(key)), reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::privacy
