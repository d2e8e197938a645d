// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/retrieval/whitening.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference {
namespace {

using ::testing::HasSubstr;

constexpr int kWidth = 6;
constexpr size_t kRows = 4000;
const Digest kModel{1, 2, 3};

// Returns rows with a mean far from zero and strongly correlated values, as hidden states have.
std::vector<float> SkewedRows(uint64_t seed) {
  Random random(seed);
  std::vector<double> map(kWidth * kWidth);
  for (double& value : map) {
    value = random.Normal();
  }
  std::vector<float> rows;
  for (size_t row = 0; row < kRows; ++row) {
    std::vector<double> source(kWidth);
    for (size_t i = 0; i < kWidth; ++i) {
      source[i] = random.Normal() * std::pow(2.0, static_cast<double>(i) - 3);
    }
    for (size_t i = 0; i < kWidth; ++i) {
      double value = 5;
      for (size_t j = 0; j < kWidth; ++j) {
        value += map[i * kWidth + j] * source[j];
      }
      rows.push_back(static_cast<float>(value));
    }
  }
  return rows;
}

double Dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * b[i];
  }
  return sum;
}

std::span<const float> Row(const std::vector<float>& rows, size_t row) {
  return std::span(rows).subspan(row * kWidth, kWidth);
}

TEST(WhiteningTest, DirectionsOfWhitenedTextAreUniform) {
  const std::vector<float> rows = SkewedRows(1);
  const Whitening whitening = Whitening::Estimate(kModel, rows, kWidth, 1e-6F).value();
  std::vector<double> second_moment(kWidth * kWidth);
  double plain = 0;
  double whitened = 0;
  for (size_t row = 0; row < kRows; ++row) {
    const std::vector<float> unit = whitening.Apply(Row(rows, row));
    EXPECT_NEAR(Dot(unit, unit), 1, 1e-5);
    for (size_t i = 0; i < kWidth; ++i) {
      for (size_t j = 0; j < kWidth; ++j) {
        second_moment[i * kWidth + j] += static_cast<double>(unit[i]) * unit[j] * kWidth / kRows;
      }
    }
    const auto next = Row(rows, (row + 1) % kRows);
    plain += Dot(Row(rows, row), next) /
             std::sqrt(Dot(Row(rows, row), Row(rows, row)) * Dot(next, next)) / kRows;
    whitened += Dot(unit, whitening.Apply(next)) / kRows;
  }
  for (size_t i = 0; i < kWidth; ++i) {
    for (size_t j = 0; j < kWidth; ++j) {
      EXPECT_NEAR(second_moment[i * kWidth + j], i == j ? 1 : 0, 0.12) << i << " " << j;
    }
  }
  EXPECT_GT(plain, 0.15);
  EXPECT_NEAR(whitened, 0, 0.03);
}

// Whitening depends only on the relative position of rows: an invertible affine map before it
// changes no cosine.
TEST(WhiteningTest, CosinesDoNotDependOnAnAffineMapBefore) {
  const std::vector<float> rows = SkewedRows(2);
  std::vector<float> mapped(rows.size());
  for (size_t row = 0; row < kRows; ++row) {
    for (size_t i = 0; i < kWidth; ++i) {
      const size_t other = (i + 1) % kWidth;
      mapped[row * kWidth + i] = 2 * rows[row * kWidth + i] - 0.5F * rows[row * kWidth + other] + 7;
    }
  }
  const Whitening a = Whitening::Estimate(kModel, rows, kWidth, 1e-7F).value();
  const Whitening b = Whitening::Estimate(kModel, mapped, kWidth, 1e-7F).value();
  for (size_t row = 0; row + 1 < 50; ++row) {
    EXPECT_NEAR(Dot(a.Apply(Row(rows, row)), a.Apply(Row(rows, row + 1))),
                Dot(b.Apply(Row(mapped, row)), b.Apply(Row(mapped, row + 1))), 2e-2);
  }
}

TEST(WhiteningTest, FullShrinkageOnlyCentres) {
  const std::vector<float> rows = SkewedRows(3);
  const Whitening whitening = Whitening::Estimate(kModel, rows, kWidth, 1).value();
  std::vector<double> mean(kWidth);
  for (size_t i = 0; i < rows.size(); ++i) {
    mean[i % kWidth] += rows[i] / static_cast<double>(kRows);
  }
  std::vector<float> centred(kWidth);
  for (size_t i = 0; i < kWidth; ++i) {
    centred[i] = static_cast<float>(rows[i] - mean[i]);
  }
  const std::vector<float> unit = whitening.Apply(Row(rows, 0));
  const double length = std::sqrt(Dot(centred, centred));
  for (size_t i = 0; i < kWidth; ++i) {
    EXPECT_NEAR(unit[i], centred[i] / length, 1e-4);
  }
}

TEST(WhiteningTest, TheMeanItselfHasNoDirection) {
  const std::vector<float> rows = {1, 0, -1, 0};
  const Whitening whitening = Whitening::Estimate(kModel, rows, 2, 0.5F).value();
  EXPECT_EQ(whitening.Apply(std::vector<float>{0, 0}), (std::vector<float>{0, 0}));
}

TEST(WhiteningTest, RefusesWhatHasNoStatistics) {
  const std::vector<float> rows = {1, 2, 3, 5};
  EXPECT_TRUE(Whitening::Estimate(kModel, rows, 2, 0.5F).ok());
  EXPECT_THAT(MessageOf(Whitening::Estimate(kModel, rows, 4, 0.5F).status()),
              HasSubstr("two or more"));
  EXPECT_THAT(MessageOf(Whitening::Estimate(kModel, rows, 3, 0.5F).status()),
              HasSubstr("two or more"));
  EXPECT_THAT(MessageOf(Whitening::Estimate(kModel, rows, 0, 0.5F).status()), HasSubstr("1 to"));
  EXPECT_THAT(MessageOf(Whitening::Estimate(kModel, rows, 2, 0).status()), HasSubstr("shrinkage"));
  EXPECT_THAT(MessageOf(Whitening::Estimate(kModel, rows, 2, 1.5F).status()),
              HasSubstr("shrinkage"));
  const std::vector<float> equal = {1, 2, 1, 2};
  EXPECT_THAT(MessageOf(Whitening::Estimate(kModel, equal, 2, 0.5F).status()),
              HasSubstr("all equal"));
  const std::vector<float> infinite = {1, std::numeric_limits<float>::infinity(), 1, 2};
  EXPECT_THAT(MessageOf(Whitening::Estimate(kModel, infinite, 2, 0.5F).status()),
              HasSubstr("finite"));
}

}  // namespace
}  // namespace ruvd::inference
