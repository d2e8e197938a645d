// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests how verdicts on peers are stored.

#include "node/sharing/reputation_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/reasons.h"

namespace ruvd::sharing {
namespace {

std::vector<federation::ReputationTable::Known> TwoPeers() {
  return {{.peer = {1}, .helped = 3, .harmed = 0.5, .last = {9}, .last_helped = 1},
          {.peer = {2}, .harmed = 4, .last = {8}, .last_harmed = 0.25}};
}

TEST(ReputationFileTest, IsSealedAndLasts) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "reputation-file";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string path = folder / "reputations";
  const ReputationFile file(path, privacy::SealKey::Generate());
  EXPECT_TRUE(file.Load()->empty()) << "there is none";
  ASSERT_TRUE(file.Keep(TwoPeers()).ok());
  const auto read = file.Load();
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, TwoPeers());
  EXPECT_EQ(ReasonOf(ReputationFile(path, privacy::SealKey::Generate()).Load().status()),
            reasons::kSealBroken);
  EXPECT_TRUE(ReputationFile().Keep(TwoPeers()).ok()) << "without a key nothing lasts";
  EXPECT_TRUE(ReputationFile().Load()->empty());
  std::filesystem::remove_all(folder);
}

TEST(ReputationFileTest, OtherBytesAreRefused) {
  const std::string bytes = EncodeReputations(TwoPeers());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeReputations(AsBytes(bytes).first(size)).ok()) << size;
  }
  EXPECT_FALSE(DecodeReputations(AsBytes(bytes + "x")).ok());
  EXPECT_EQ(DecodeReputations(AsBytes(bytes)).value(), TwoPeers());
}

TEST(ReputationFileTest, ATableGoesOnInAnotherRoundAndTakesNoOtherNumbers) {
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
