// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/projection_frame.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

TEST(FrameTest, FactorsAreOrthonormal) {
  const test::TextModel model;
  const ProjectionFrame frame = RandomFrame(model, 32, 4).value();
  EXPECT_EQ(frame.target, "blk.1.attn_output.weight");
  EXPECT_EQ(frame.in, 64);
  EXPECT_EQ(frame.out, 64);
  for (size_t i = 0; i < 32; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double q = 0;
      double p = 0;
      for (size_t k = 0; k < 64; ++k) {
        q += static_cast<double>(frame.q[i * 64 + k]) * frame.q[j * 64 + k];
        p += static_cast<double>(frame.p[k * 32 + i]) * frame.p[k * 32 + j];
      }
      EXPECT_NEAR(q, i == j ? 1.0 : 0.0, 1e-6);
      EXPECT_NEAR(p, i == j ? 1.0 : 0.0, 1e-6);
    }
  }
}

// The first values are fixed: another machine or compiler must make the same frame.
TEST(FrameTest, IsTheSameEverywhere) {
  const test::TextModel model;
  const ProjectionFrame frame = RandomFrame(model, 4, 99).value();
  const ProjectionFrame again = RandomFrame(model, 4, 99).value();
  EXPECT_EQ(frame.id, again.id);
  EXPECT_EQ(frame.p, again.p);
  EXPECT_EQ(frame.q, again.q);
  EXPECT_EQ(ToHex(std::span(frame.id).first(8)), "5af0f0326614a4b8");
  EXPECT_FLOAT_EQ(frame.q[0], -0.26247296F);
  EXPECT_FLOAT_EQ(frame.p[0], -0.014283904F);
}

TEST(FrameTest, IdDependsOnEverything) {
  const test::TextModel model;
  auto options = test::TextModel::Defaults();
  options.seed = 2;
  const test::TextModel other(options);
  const ProjectionFrame frame = RandomFrame(model, 4, 99).value();
  EXPECT_NE(frame.id, RandomFrame(model, 4, 98)->id);
  EXPECT_NE(frame.id, RandomFrame(model, 5, 99)->id);
  EXPECT_NE(frame.id, RandomFrame(other, 4, 99)->id);
}

TEST(FrameTest, RefusesImpossibleRanks) {
  const test::TextModel model;
  for (const int rank : {0, -1, 65, 100000}) {
    EXPECT_EQ(ReasonOf(RandomFrame(model, rank, 1).status()), reasons::kInvalidArgument);
  }
}

TEST(CoreTest, AdapterIsTheProductOfItsFactors) {
  const test::TextModel model;
  const ProjectionFrame frame = RandomFrame(model, 3, 1).value();
  const std::vector<float> core = {1, 2, 3, -1, 0, 0.5F, 0.25F, 0, -2};
  const auto adapter = AdapterFromCore(frame, core, "core", 2, 0.5F).value();
  const LowRank& change = adapter->targets.at(frame.target);
  EXPECT_EQ(change.scale, 0.5F);
  EXPECT_EQ(change.a, frame.q);
  EXPECT_EQ(adapter->model_hash, model.hash());
  for (size_t row = 0; row < 64; ++row) {
    for (size_t column = 0; column < 3; ++column) {
      double expected = 0;
      for (size_t k = 0; k < 3; ++k) {
        expected += static_cast<double>(frame.p[row * 3 + k]) * core[k * 3 + column];
      }
      EXPECT_NEAR(change.b[row * 3 + column], expected, 1e-6);
    }
  }
}

TEST(CoreTest, RefusesWrongSizesAndValues) {
  const test::TextModel model;
  const ProjectionFrame frame = RandomFrame(model, 2, 1).value();
  EXPECT_EQ(ReasonOf(AdapterFromCore(frame, std::vector<float>(3), "x", 1, 1).status()),
            reasons::kUpdateInvalid);
  const std::vector<float> infinite = {0, 0, std::numeric_limits<float>::infinity(), 0};
  EXPECT_EQ(ReasonOf(AdapterFromCore(frame, infinite, "x", 1, 1).status()),
            reasons::kUpdateInvalid);
}

}  // namespace
}  // namespace ruvd::inference
