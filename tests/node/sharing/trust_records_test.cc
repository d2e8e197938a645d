// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/trust_records.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "federation/limits.h"
#include "federation/membership/evidence.h"
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

}  // namespace
}  // namespace ruvd::sharing
