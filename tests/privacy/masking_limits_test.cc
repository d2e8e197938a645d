// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// How much a member of a masked sum may add, and how many may collude.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/distributed_gaussian.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "tests/privacy/masking_fixture.h"

namespace ruvd::privacy::masking {
namespace {

using MaskingLimitsTest = MaskingTest;

TEST_F(MaskingLimitsTest, AThirdOfTheMembersMayCollude) {
  layout_.colluders = kThirdColludes;
  ASSERT_TRUE(layout_.Check().ok()) << layout_.Check();
  for (size_t members = limits::kMinCliqueMembers; members <= limits::kMaxCliqueMembers;
       ++members) {
    EXPECT_EQ(layout_.ColludersAmong(members), (members + 2) / 3);
    const dp::NoiseShares shares =
        dp::SplitNoise(layout_.grid, static_cast<uint32_t>(members),
                       static_cast<uint32_t>((members + 2) / 3), layout_.Values())
            .value();
    EXPECT_EQ(layout_.MaxUnitsPerMember(members).value(),
              layout_.grid.clip_units + 13 * shares.share_units);
    EXPECT_GE(shares.share_units * std::sqrt(static_cast<double>(members - (members + 2) / 3)),
              layout_.grid.sigma_units)
        << "the others add one whole noise";
  }
  for (const uint8_t fixed : {0, 1, 15}) {
    layout_.colluders = fixed;
    EXPECT_EQ(layout_.ColludersAmong(16), fixed);
  }
}

// Sixteen members that each add as much as they may still have a sum that did not wrap around.
TEST_F(MaskingLimitsTest, ASumOfTheLargestInputsIsTheTrueSum) {
  layout_.unit_limit = limits::kMaxMaskUnits;
  layout_.grid.sigma_units = limits::kMaxNoiseUnits;
  layout_.colluders = kThirdColludes;
  Start(16);
  const Clique clique = FirstOf(16);
  const int64_t most = layout_.MaxUnitsPerMember(16).value();
  std::vector<int32_t> units(layout_.Values(), static_cast<int32_t>(most));
  units[1] = -units[1];
  MaskedSum sum = MaskedSum::Begin(clique, layout_).value();
  for (size_t node = 0; node < 16; ++node) {
    ASSERT_TRUE(
        sum.Add(IdOf(node), sessions_[node].Mask(clique, InputOf(clique, units)).value()).ok());
  }
  const std::vector<int32_t> result = sum.Result().value();
  EXPECT_EQ(result[0], 16 * most);
  EXPECT_EQ(result[1], -16 * most);
}

TEST_F(MaskingLimitsTest, AnInputAboveTheLimitIsNotMasked) {
  layout_.unit_limit = 10 * static_cast<uint32_t>(layout_.grid.clip_units);
  Start(4);
  const Clique clique = FirstOf(4);
  const int64_t most = layout_.MaxUnitsPerMember(4).value();
  EXPECT_GT(most, 10 * layout_.grid.clip_units);
  std::vector<int32_t> units(layout_.Values(), static_cast<int32_t>(most + 1));
  EXPECT_EQ(ReasonOf(sessions_[0].Mask(clique, InputOf(clique, units)).status()),
            reasons::kUpdateInvalid);
  units.assign(layout_.Values(), static_cast<int32_t>(most));
  EXPECT_TRUE(sessions_[0].Mask(clique, InputOf(clique, units)).ok());
  layout_.unit_limit = limits::kMaxMaskUnits + 1;
  EXPECT_EQ(ReasonOf(layout_.Check()), reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::privacy::masking
