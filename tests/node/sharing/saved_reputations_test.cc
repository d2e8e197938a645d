// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests how verdicts on peers are stored.

#include "node/sharing/saved_reputations.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "federation/limits.h"
#include "ruvd/storage/v1/state.pb.h"
#include "tests/node/database_fixture.h"

namespace ruvd::sharing {
namespace {

std::vector<federation::ReputationTable::Known> TwoPeers() {
  return {{.peer = {1}, .helped = 3, .harmed = 0.5, .last = {9}, .last_helped = 1},
          {.peer = {2}, .harmed = 4, .last = {8}, .last_harmed = 0.25}};
}

class SavedReputationsTest : public DatabaseTest {};

TEST_F(SavedReputationsTest, LastAcrossAStart) {
  storage::StateStore state(*database_);
  EXPECT_TRUE(LoadReputations(state)->empty()) << "none is stored yet";
  ASSERT_TRUE(StoreReputations(state, TwoPeers()).ok());
  EXPECT_EQ(LoadReputations(state).value(), TwoPeers());
  DamageState(storage::state::PeerReputations());
  EXPECT_FALSE(LoadReputations(state).ok());
}

TEST_F(SavedReputationsTest, OtherLengthsAreRefused) {
  const storage::v1::PeerReputations stored = ToStored(TwoPeers());
  EXPECT_EQ(FromStored(stored).value(), TwoPeers());
  storage::v1::PeerReputations damaged = stored;
  damaged.mutable_peers(1)->mutable_peer()->pop_back();
  EXPECT_FALSE(FromStored(damaged).ok());
  damaged = stored;
  damaged.mutable_peers(0)->mutable_last_update()->push_back('x');
  EXPECT_FALSE(FromStored(damaged).ok());
  damaged = stored;
  while (static_cast<size_t>(damaged.peers_size()) <= limits::kMaxMembers) {
    *damaged.add_peers() = stored.peers(0);
  }
  EXPECT_FALSE(FromStored(damaged).ok());
}

TEST_F(SavedReputationsTest, ATableGoesOnInAnotherRoundAndTakesNoOtherNumbers) {
  const auto table = federation::ReputationTable::Restore(TwoPeers(), /*round=*/7);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->All(7), TwoPeers());
  EXPECT_DOUBLE_EQ(table->Of({1}, 7), 5 / 6.5);
  EXPECT_LT(table->Of({2}, 7), 0.5);
  EXPECT_GT(table->Of({2}, 8), table->Of({2}, 7)) << "it fades from there on";
  EXPECT_EQ(table->Of({3}, 7), 0.5);
  std::vector<federation::ReputationTable::Known> swapped = {TwoPeers()[1], TwoPeers()[0]};
  EXPECT_FALSE(federation::ReputationTable::Restore(swapped, 7).ok());
  for (const double value :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    for (double federation::ReputationTable::Known::* const member :
         {&federation::ReputationTable::Known::helped, &federation::ReputationTable::Known::harmed,
          &federation::ReputationTable::Known::last_helped,
          &federation::ReputationTable::Known::last_harmed}) {
      std::vector<federation::ReputationTable::Known> known = TwoPeers();
      known[1].*member = value;
      EXPECT_FALSE(federation::ReputationTable::Restore(known, 7).ok()) << value;
    }
  }
}

}  // namespace
}  // namespace ruvd::sharing
