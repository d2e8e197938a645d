// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The private part of the tour: `ruvd tour` runs it with the model that ships, and these tests see
// that its steps can fail.

#include <algorithm>
#include <string_view>

#include "tests/e2e/cluster_fixture.h"

namespace ruvd::cli {
namespace {

class PrivateRounds : public ClusterTest {
 protected:
  void SetUp() override {
    tour_.private_model = Model();
    tour_.program = Program();
  }
  // Runs the step whose title contains `words`.
  absl::StatusOr<std::string> Run(std::string_view words) {
    const auto steps = PrivateSteps();
    const auto step = std::ranges::find_if(steps, [&](const TourStep& one) {
      return one.title.find(words) != std::string_view::npos;
    });
    if (step == steps.end()) {
      return absl::NotFoundError(std::string(words));
    }
    return step->run(tour_);
  }

  Tour tour_;
};

TEST_F(PrivateRounds, StepsFailWhereNothingWasLearnedOrSpent) {
  for (const std::string_view step : {"four nodes", "texts of its own", "measure"}) {
    const auto result = Run(step);
    ASSERT_TRUE(result.ok()) << step << ": " << result.status();
  }
  // No node consented, so no round changed what they serve.
  const auto fell = Run("texts fell");
  EXPECT_TRUE(absl::IsFailedPrecondition(fell.status())) << fell.status();
  EXPECT_THAT(fell.status().message(), ::testing::HasSubstr("gain +0.0000"));
  EXPECT_FALSE(Run("ledgers verify").ok());  // nothing was charged
}

}  // namespace
}  // namespace ruvd::cli
