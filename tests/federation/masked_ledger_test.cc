// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What a masked round costs its members: real clipping, charging and noise behind every share.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "privacy/dp/grid_release.h"
#include "privacy/release/unit_release.h"
#include "tests/federation/masked_bus.h"
#include "tests/privacy/release_fixture.h"

namespace ruvd::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MaskedLedgerTest : public testing::Test {
 protected:
  static constexpr size_t kNodes = 6;

  static privacy::masking::MaskLayout Layout() {
    return {.bank_values = {1, 1},
            .grid = privacy::dp::MakeNoiseGrid(1, 0.6, 2).value(),
            .colluders = 1};
  }

  MaskedLedgerTest() : worlds_(kNodes), bus_(kNodes, /*seed=*/1, /*observers=*/0, Layout()) {
    for (size_t i = 0; i < kNodes; ++i) {
      worlds_[i].random = Random(i + 1);
      worlds_[i].tier = privacy::ConsentTier::kMasked;
    }
    bus_.prepare = [this](size_t node, const federation::MaskInputWanted& wanted)
        -> std::optional<privacy::masking::MaskInput> {
      auto noised = NoiseUnitShare(Terms(), worlds_[node].Guards(), SumOfLessons(),
                                   worlds_[node].contributors, Layout(), wanted.set);
      if (!noised.ok()) {
        return std::nullopt;
      }
      charges_[node] = noised->charge;
      return std::move(noised->input);
    };
    bus_.pay = [this](size_t node) -> std::optional<uint64_t> {
      const auto paid = PayForUnitShare(Terms(), worlds_[node].Guards(), SumOfLessons(),
                                        worlds_[node].contributors, charges_[node]);
      return paid.ok() ? std::optional(*paid) : std::nullopt;
    };
  }
  static privacy::UnitReleaseTerms Terms() { return {.scope = "support", .grid = Layout().grid}; }
  // Returns the gradients of a node's sample, which has two lessons.
  static privacy::UnitSum SumOfLessons() {
    privacy::UnitSum sum =
        privacy::UnitSum::Create(Layout().grid, /*clip_norm=*/1, Layout().Values()).value();
    std::vector<std::vector<float>> gradients = {{-0.5F, 0}, {0, 0.25F}};
    for (std::vector<float>& gradient : gradients) {
      EXPECT_TRUE(sum.Add(gradient).ok());
    }
    return sum;
  }

  std::vector<privacy::ReleaseWorld> worlds_;
  MaskedBus bus_;
  std::map<size_t, privacy::LedgerCharge> charges_;  // of noised shares, by node
};

TEST_F(MaskedLedgerTest, AMemberPaysOnceBeforeItsShareLeaves) {
  bus_.Run();
  bus_.ExpectSum({0, 1, 2, 3, 4, 5}, 0);
  bus_.ExpectNothingTwice();
  for (const privacy::ReleaseWorld& world : worlds_) {
    EXPECT_THAT(world.events, ElementsAre("noise", "reserve", "spend"));
  }
  // The sum is six times minus the gradients, with noise of 0.6 * sqrt(6 / 5).
  const std::vector<float> mean = (*bus_.node(0).outcome)->Mean(bus_.layout().grid);
  EXPECT_NEAR(mean[0], 0.5, 4 * 0.7 / 6);
  EXPECT_NEAR(mean[1], -0.25, 4 * 0.7 / 6);
}

// Each share that left is a release, even if its sum failed.
TEST_F(MaskedLedgerTest, AnAttemptThatFailedAfterItsSharesIsPaidForToo) {
  bus_.node(3).pays = false;
  bus_.Run();
  bus_.ExpectSum({0, 1, 2, 4, 5}, 1);
  bus_.ExpectNothingTwice();
  EXPECT_THAT(worlds_[0].events,
              ElementsAre("noise", "reserve", "spend", "noise", "reserve", "spend"));
  EXPECT_NE(bus_.node(0).inputs.at(0), bus_.node(0).inputs.at(1)) << "the noise is fresh";
  EXPECT_THAT(worlds_[3].events, ElementsAre("noise"));
}

// Found by review: a member that fell silent after the set cost all others a charge.
TEST_F(MaskedLedgerTest, WhoDoesNotCommitCostsNobodyACharge) {
  bus_.node(3).answers = false;
  bus_.Run();
  bus_.ExpectSum({0, 1, 2, 4, 5}, 1);
  bus_.ExpectNothingTwice();
  EXPECT_THAT(worlds_[0].events, ElementsAre("noise", "noise", "reserve", "spend"));
  EXPECT_NE(bus_.node(0).inputs.at(0), bus_.node(0).inputs.at(1)) << "the noise is fresh";
  EXPECT_THAT(worlds_[3].events, IsEmpty());
}

TEST_F(MaskedLedgerTest, WhoCannotPayIsLeftOutAndNoisesNothing) {
  worlds_[2].ledger.budget =
      privacy::UnitBudget::Within(privacy::PrivacyUnit::kLesson, 0.5, 1e-6).value();
  bus_.Run();
  bus_.ExpectSum({0, 1, 3, 4, 5}, 1);
  EXPECT_THAT(worlds_[2].events, IsEmpty());
  EXPECT_EQ(bus_.SharesOf(2), 0U);
}

// No share leaves before all agree on the set, so an attempt that fails earlier costs nothing.
TEST_F(MaskedLedgerTest, AnAttemptWithoutSharesIsFree) {
  bus_.intercept = [this](size_t from, const federation::Item& item) {
    bus_.node(4).stopped |= from == 4 && item.kind == federation::ItemKind::kMaskSet;
    return bus_.node(from).stopped;
  };
  bus_.Run();
  bus_.ExpectSum({0, 1, 2, 3, 5}, 1);
  EXPECT_THAT(worlds_[0].events, ElementsAre("noise", "reserve", "spend"));
}

}  // namespace
}  // namespace ruvd::test
