// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/codes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/status.h"

namespace ruvd::hnsw {
namespace {

constexpr float kLargestCode = 127.0F;
constexpr int kLargestWide = 127 * 256;  // of a query's 16 bits: its high part stays within 127
constexpr uint8_t kZeroNibbles = 0x88;   // high plane of value 0: code 128
constexpr uint8_t kZeroResiduals = 0x88;

// Sums and maxima run in lanes, which a compiler may keep in vectors without changing their order.
constexpr size_t kLanes = 8;

float LargestMagnitude(std::span<const float> values) {
  std::array<float, kLanes> largest{};
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float magnitude = std::abs(values[i + lane]);
      largest[lane] = largest[lane] < magnitude ? magnitude : largest[lane];
    }
  }
  for (; i < values.size(); ++i) {
    largest[0] = std::max(largest[0], std::abs(values[i]));
  }
  return *std::max_element(largest.begin(), largest.end());
}

// `codes` are 12 bits: 16 (c + 128) + r.
void WritePlanes(const std::vector<uint16_t>& codes, size_t plane_bytes, uint8_t* high,
                 uint8_t* low, uint8_t* residual) {
  const uint16_t* first = codes.data();
  const uint16_t* second = first + plane_bytes;
  for (size_t j = 0; j < plane_bytes; ++j) {
    high[j] = static_cast<uint8_t>((first[j] >> 8) | ((second[j] >> 8) << 4));
  }
  for (size_t j = 0; j < plane_bytes; ++j) {
    low[j] = static_cast<uint8_t>(((first[j] >> 4) & 15) | (((second[j] >> 4) & 15) << 4));
  }
  if (residual == nullptr) {
    return;
  }
  for (size_t j = 0; j < plane_bytes; ++j) {
    residual[j] = static_cast<uint8_t>((first[j] & 15) | ((second[j] & 15) << 4));
  }
}

// Of a row made into a query: known for unit rows and from the bias, else summed.
float SquaredNormOf(const EncodedQuery& query, const RowHeader& header, HnswMetric metric) {
  if (metric != HnswMetric::kDot) {
    return metric == HnswMetric::kL2 ? header.bias : 1.0F;
  }
  int32_t squares = 0;
  for (const int8_t code : query.high) {
    squares += code * code;
  }
  return header.scale * header.scale * static_cast<float>(squares);
}

void SetMetric(HnswMetric metric, float squared_norm, EncodedQuery* query) {
  query->factor = metric == HnswMetric::kL2 ? 2.0F : 1.0F;
  query->base = metric == HnswMetric::kCosine ? 1.0F
                : metric == HnswMetric::kL2   ? squared_norm
                                              : 0.0F;
  query->norm = std::sqrt(squared_norm);
}

}  // namespace

double SquaredNorm(std::span<const float> values) {
  std::array<double, kLanes> sums{};
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      sums[lane] += value * value;
    }
  }
  for (; i < values.size(); ++i) {
    sums[0] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  double sum = 0;
  for (const double lane : sums) {
    sum += lane;
  }
  return sum;
}

float EncodeRow(std::span<const float> row, const CodeLayout& layout, uint8_t* high, uint8_t* low,
                uint8_t* residual) {
  RUVD_CHECK(row.size() == layout.dimension);
  const float scale = LargestMagnitude(row) / kLargestCode;
  const float inverse = scale > 0 ? 1.0F / scale : 0.0F;
  if (!std::isfinite(inverse) || scale == 0) {  // zeros, or too small for a float's inverse
    std::memset(high, kZeroNibbles, layout.plane_bytes);
    std::memset(low, 0, layout.plane_bytes);
    if (residual != nullptr) {
      std::memset(residual, kZeroResiduals, layout.plane_bytes);
    }
    return 0;
  }
  std::vector<uint16_t> codes(layout.padded, 128 * 16 + 8);
  for (size_t i = 0; i < row.size(); ++i) {
    const float value = row[i] * inverse;
    const int code = static_cast<int>(value + 128.5F);  // positive: truncation is the floor
    const float rest = value - static_cast<float>(code - 128);
    const int fine = std::min(static_cast<int>(rest * 16.0F + 8.5F), 15);
    codes[i] = static_cast<uint16_t>(code * 16 + fine);
  }
  WritePlanes(codes, layout.plane_bytes, high, low, residual);
  return scale;
}

void EncodeQuery(std::span<const float> values, const CodeLayout& layout, HnswMetric metric,
                 EncodedQuery* query) {
  RUVD_CHECK(values.size() == layout.dimension);
  query->high.assign(layout.padded, 0);
  query->low.assign(layout.padded, 0);
  const float largest = LargestMagnitude(values);
  const float step = largest / static_cast<float>(kLargestWide);
  const float inverse = step > 0 ? 1.0F / step : 0.0F;
  const bool zero = !std::isfinite(inverse) || step == 0;
  query->scale = zero ? 0.0F : step * 256.0F;
  query->sum_high = 0;
  query->sum_low = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const float scaled = zero ? 0.0F : values[i] * inverse;
    const int wide = static_cast<int>(scaled + 32768.5F) - 32768;
    const int high = (wide + 128 + 32768) / 256 - 128;  // floor((wide + 128) / 256)
    query->high[i] = static_cast<int8_t>(high);
    query->low[i] = static_cast<int8_t>(wide - 256 * high);
    query->sum_high += high;
    query->sum_low += wide - 256 * high;
  }
  SetMetric(metric, static_cast<float>(SquaredNorm(values)), query);
}

void QueryFromRow(const uint8_t* high, const uint8_t* low, const RowHeader& header,
                  const CodeLayout& layout, HnswMetric metric, EncodedQuery* query) {
  query->high.resize(layout.padded);
  int8_t* out = query->high.data();
  const size_t bytes = layout.plane_bytes;
  // Byte by byte, without widening, so that the loop is a few vector instructions.
  for (size_t j = 0; j < bytes; ++j) {
    const auto first = static_cast<uint8_t>((high[j] << 4) | (low[j] & 15));
    const auto second = static_cast<uint8_t>((high[j] & 0xF0) | (low[j] >> 4));
    out[j] = static_cast<int8_t>(first ^ 0x80);
    out[bytes + j] = static_cast<int8_t>(second ^ 0x80);
  }
  int32_t sum = 0;
  for (size_t j = 0; j < layout.padded; ++j) {
    sum += out[j];
  }
  query->sum_high = sum;
  query->sum_low = 0;
  query->scale = header.scale;
  SetMetric(metric, SquaredNormOf(*query, header, metric), query);
}

}  // namespace ruvd::hnsw
