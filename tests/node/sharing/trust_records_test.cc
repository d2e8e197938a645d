// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/trust_records.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/membership/evidence.h"
#include "federation/membership/score_limits.h"
#include "privacy/reasons.h"
#include "ruvd/storage/v1/state.pb.h"
#include "tests/node/database_fixture.h"

namespace ruvd::sharing {
namespace {

class TrustRecordsTest : public DatabaseTest {};

TEST_F(TrustRecordsTest, KeepsProofsAndRefusesOtherLengths) {
  storage::StateStore state(*database_);
  EXPECT_TRUE(LoadEvidence(state).value().empty());
  const std::vector<std::string> proofs = {
      std::string(federation::EvidenceTable::kStoredBytes, 'a'),
      std::string(federation::EvidenceTable::kStoredBytes, 'b')};
  ASSERT_TRUE(StoreEvidence(state, proofs).ok());
  EXPECT_EQ(LoadEvidence(state).value(), proofs);
  for (const std::vector<std::string>& damaged :
       {std::vector<std::string>{proofs[0], proofs[1].substr(1)},
        std::vector<std::string>(limits::kMaxEvidence + 1, proofs[0])}) {
    ASSERT_TRUE(StoreEvidence(state, damaged).ok());
    EXPECT_EQ(ReasonOf(LoadEvidence(state).status()), reasons::kEvidenceInvalid);
  }
}

federation::KeptScores SomeScores() {
  federation::KeptScores scores;
  scores.saved_ms = 1'800'000'000'000;
  scores.peers.push_back(
      {.id = {1}, .deliveries = 2, .invalid = 0.5, .misbehaviour = 3, .deficit = 1});
  scores.graylistings.push_back({.id = {2}, .remaining_ms = -5, .times = 2});
  return scores;
}

TEST_F(TrustRecordsTest, KeepsScores) {
  storage::StateStore state(*database_);
  EXPECT_TRUE(LoadScores(state).value().peers.empty());
  ASSERT_TRUE(StoreScores(state, SomeScores()).ok());
  const federation::KeptScores loaded = LoadScores(state).value();
  EXPECT_EQ(ToStored(loaded).SerializeAsString(), ToStored(SomeScores()).SerializeAsString());
  EXPECT_EQ(loaded.graylistings.at(0).id, SomeScores().graylistings[0].id);
}

TEST_F(TrustRecordsTest, DamagedScoresAreRefused) {
  storage::v1::PeerScores short_id = ToStored(SomeScores());
  short_id.mutable_graylistings(0)->mutable_id()->pop_back();
  storage::v1::PeerScores negative = ToStored(SomeScores());
  negative.mutable_peers(0)->set_invalid(-1);
  storage::v1::PeerScores endless = ToStored(SomeScores());
  endless.mutable_peers(0)->set_deficit(std::numeric_limits<double>::infinity());
  storage::v1::PeerScores many = ToStored(SomeScores());
  while (std::cmp_less_equal(many.graylistings_size(), limits::kMaxScores)) {
    *many.add_graylistings() = many.graylistings(0);
  }
  for (const storage::v1::PeerScores& damaged : {short_id, negative, endless, many}) {
    EXPECT_EQ(ReasonOf(FromStored(damaged).status()), reasons::kStoreCorrupt);
  }
}

}  // namespace
}  // namespace ruvd::sharing
