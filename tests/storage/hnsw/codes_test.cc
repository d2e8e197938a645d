// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/codes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>

#include "base/random.h"
#include "storage/hnsw/kernels/nibble_kernels.h"

namespace ruvd::storage::hnsw {
namespace {

std::vector<float> RandomRow(Random& random, size_t dimension) {
  std::vector<float> row(dimension);
  for (float& value : row) {
    value = static_cast<float>(random.Normal());
  }
  return row;
}

struct Planes {
  explicit Planes(const CodeLayout& layout)
      : high(layout.plane_bytes), low(layout.plane_bytes), residual(layout.plane_bytes) {}
  std::vector<uint8_t> high, low, residual;
};

int Nibble(const std::vector<uint8_t>& plane, size_t i) {
  return i < plane.size() ? plane[i] & 15 : plane[i - plane.size()] >> 4;
}

RC_GTEST_PROP(NibbleKernelsTest, AllInstructionSetsGiveTheSameSums, ()) {
  const size_t row_bytes = 64 * *rc::gen::inRange<size_t>(1, 20);
  const size_t rows = *rc::gen::inRange<size_t>(1, 12);
  Random random(*rc::gen::arbitrary<uint64_t>());
  std::vector<int8_t> query(2 * row_bytes);
  std::vector<uint8_t> plane(rows * row_bytes);
  std::vector<uint32_t> ids(rows);
  for (int8_t& value : query) {
    value = static_cast<int8_t>(random.Below(256));
  }
  for (uint8_t& byte : plane) {
    byte = static_cast<uint8_t>(random.Below(256));
  }
  for (uint32_t& id : ids) {
    id = static_cast<uint32_t>(random.Below(rows));
  }
  std::vector<int32_t> expected(rows);
  DotNibblesScalar(query.data(), plane.data(), row_bytes, ids.data(), rows, expected.data());
  for (const NibbleKernel& kernel : AvailableNibbleKernels()) {
    std::vector<int32_t> sums(rows, -1);
    kernel.dot(query.data(), plane.data(), row_bytes, ids.data(), rows, sums.data());
    RC_ASSERT(sums == expected);
  }
}

TEST(NibbleKernelsTest, TheLargestProductsDoNotOverflow) {
  constexpr size_t kRowBytes = 8192;  // the largest dimension
  const std::vector<uint8_t> plane(kRowBytes, 0xFF);
  const std::vector<int8_t> query(2 * kRowBytes, -128);
  const uint32_t id = 0;
  for (const NibbleKernel& kernel : AvailableNibbleKernels()) {
    int32_t sum = 0;
    kernel.dot(query.data(), plane.data(), kRowBytes, &id, 1, &sum);
    EXPECT_EQ(sum, -128 * 15 * 2 * static_cast<int32_t>(kRowBytes)) << kernel.name;
  }
}

RC_GTEST_PROP(CodesTest, RowsComeBackWithinHalfAStep, ()) {
  const CodeLayout layout(*rc::gen::inRange<size_t>(1, 300));
  Random random(*rc::gen::arbitrary<uint64_t>());
  const std::vector<float> row = RandomRow(random, layout.dimension);
  Planes planes(layout);
  const RowHeader header = EncodeRow(row, layout, HnswMetric::kDot, planes.high.data(),
                                     planes.low.data(), planes.residual.data());
  const float scale = header.scale;
  for (size_t i = 0; i < row.size(); ++i) {
    const int code = 16 * Nibble(planes.high, i) + Nibble(planes.low, i) - 128;
    const int residual = Nibble(planes.residual, i) - 8;
    RC_ASSERT(code >= -127 && code <= 127);
    const float coarse = header.mean + scale * static_cast<float>(code);
    const float fine = coarse + scale * static_cast<float>(residual) / 16.0F;
    RC_ASSERT(std::abs(coarse - row[i]) <= 0.501F * scale);
    // A residual of a complete half step has no code of its own.
    RC_ASSERT(std::abs(fine - row[i]) <= 0.063F * scale);
  }
  for (size_t i = row.size(); i < layout.padded; ++i) {
    RC_ASSERT(16 * Nibble(planes.high, i) + Nibble(planes.low, i) == 128);
  }
}

RC_GTEST_PROP(CodesTest, QueriesComeBackWithinHalfAStepOfSixteenBits, ()) {
  const CodeLayout layout(*rc::gen::inRange<size_t>(1, 300));
  Random random(*rc::gen::arbitrary<uint64_t>());
  const std::vector<float> values = RandomRow(random, layout.dimension);
  EncodedQuery query;
  EncodeQuery(values, layout, HnswMetric::kDot, &query);
  int32_t sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const float value = query.mean + query.scale * (static_cast<float>(query.high[i]) +
                                                    static_cast<float>(query.low[i]) / 256.0F);
    RC_ASSERT(std::abs(value - values[i]) <= 0.53F * query.scale / 256.0F);
    sum += query.high[i];
  }
  RC_ASSERT(sum == query.sum_high);
}

TEST(CodesTest, RowsOfOneValueAndTinyRowsHaveScaleZeroAndTheMiddleCode) {
  const CodeLayout layout(5);
  for (const float value : {0.0F, 1e-42F, 2.5F}) {
    const std::vector<float> row(5, value);
    Planes planes(layout);
    const RowHeader header =
        EncodeRow(row, layout, HnswMetric::kL2, planes.high.data(), planes.low.data(), nullptr);
    EXPECT_EQ(header.scale, 0.0F);
    EXPECT_EQ(header.bias, 0.0F);
    EXPECT_EQ(16 * Nibble(planes.high, 3) + Nibble(planes.low, 3), 128);
    EncodedQuery query;
    EncodeQuery(row, layout, HnswMetric::kL2, &query);
    EXPECT_EQ(query.sum_high, 0);
  }
}

TEST(CodesTest, ARowAsAQueryHasItsOwnCodes) {
  const CodeLayout layout(130);
  Random random(7);
  const std::vector<float> row = RandomRow(random, layout.dimension);
  Planes planes(layout);
  const RowHeader header =
      EncodeRow(row, layout, HnswMetric::kDot, planes.high.data(), planes.low.data(), nullptr);
  EncodedQuery query;
  QueryFromRow(planes.high.data(), planes.low.data(), header, layout, HnswMetric::kDot, &query);
  for (size_t i = 0; i < layout.padded; ++i) {
    EXPECT_EQ(query.high[i], 16 * Nibble(planes.high, i) + Nibble(planes.low, i) - 128);
  }
  EXPECT_EQ(query.scale, header.scale);
}

}  // namespace
}  // namespace ruvd::storage::hnsw
