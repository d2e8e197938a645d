// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/codes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/status.h"

namespace ruvd::storage::hnsw {
namespace {

constexpr float kLargestCode = 127.0F;
constexpr int kLargestWide = 127 * 256;  // a query's 16 bits: its high part stays within 127
constexpr uint8_t kZeroNibbles = 0x88;   // high plane of value 0, whose code is 128
constexpr uint8_t kZeroResiduals = 0x88;

// Sums and maxima run in lanes, so that a compiler can use vector instructions without changing the
// order.
constexpr size_t kLanes = 8;

float LargestDeviation(std::span<const float> values, float mean) {
  std::array<float, kLanes> largest{};
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float magnitude = std::abs(values[i + lane] - mean);
      largest[lane] = largest[lane] < magnitude ? magnitude : largest[lane];
    }
  }
  for (; i < values.size(); ++i) {
    largest[0] = std::max(largest[0], std::abs(values[i] - mean));
  }
  return *std::max_element(largest.begin(), largest.end());
}

double SumOf(const std::array<double, kLanes>& lanes) {
  double sum = 0;
  for (const double lane : lanes) {
    sum += lane;
  }
  return sum;
}

float MeanOf(std::span<const float> values) {
  std::array<double, kLanes> sums{};
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += values[i + lane];
    }
  }
  for (; i < values.size(); ++i) {
    sums[0] += values[i];
  }
  return static_cast<float>(SumOf(sums) / static_cast<double>(values.size()));
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

// Returns the part of a distance that one side adds: its scaled squared norm, by the metric.
float BiasOf(HnswMetric metric, double squares) {
  switch (metric) {
    case HnswMetric::kCosine:
      return static_cast<float>(0.5 * squares);
    case HnswMetric::kDot:
      return 0;
    case HnswMetric::kL2:
      break;
  }
  return static_cast<float>(squares);
}

// Returns the sum of squares about the mean.
double AboutMean(double squares, double sum, size_t values) {
  return std::max(0.0, squares - sum * sum / static_cast<double>(values));
}

// Counts how often a row has each 8-bit code.
using CodeCounts = std::array<uint32_t, 256>;

// Sums over the values of a row, with codes taken about 128 and their high nibbles about 8.
struct CodeSums {
  int64_t codes = 0;
  int64_t highs = 0;
  int64_t code_squares = 0;
  int64_t products = 0;  // products of code and high nibble
};

CodeSums SumsOf(const CodeCounts& counts) {
  CodeSums sums;
  for (int32_t high = 0; high < 16; ++high) {
    int32_t codes = 0;  // the largest dimension times 127^2 fits
    int32_t squares = 0;
    int32_t number = 0;
    for (int32_t code = 16 * high; code < 16 * (high + 1); ++code) {
      const auto count = static_cast<int32_t>(counts[static_cast<size_t>(code)]);
      number += count;
      codes += count * (code - 128);
      squares += count * ((code - 128) * (code - 128));
    }
    sums.codes += codes;
    sums.code_squares += squares;
    sums.highs += int64_t{number} * (high - 8);
    sums.products += int64_t{codes} * (high - 8);
  }
  return sums;
}

// Sets the row's numbers for coarse distances. The fit of the code c by the high nibble h leaves
// errors e with sum e = 0 and sum c e = 0: neither the part that a query shares with all values nor
// the part that it shares with the row is misjudged. Least squares would not give this, because low
// nibbles are a part of c. The remaining error is treated as random. Its deviation is the larger of
// the plain mean and the mean weighted by c, because queries near a sparse row have their large
// values where the row has them.
void FitHigh(const CodeCounts& counts, const CodeSums& sums, size_t dimension, RowHeader* header) {
  const auto n = static_cast<double>(dimension);
  const double mean_code = static_cast<double>(sums.codes) / n;
  const double mean_high = static_cast<double>(sums.highs) / n;
  const double squares =
      static_cast<double>(sums.code_squares) - mean_code * static_cast<double>(sums.codes);
  const double products =
      static_cast<double>(sums.products) - mean_code * static_cast<double>(sums.highs);
  constexpr double kNibble = 16;
  const bool tells = products > 1e-3 * squares;  // otherwise all values have the same high nibble
  const double slope = tells ? squares / products : kNibble;
  std::array<double, kLanes> lane_errors{};
  std::array<double, kLanes> lane_weighted{};
  for (int32_t first = 0; first < 256; first += static_cast<int32_t>(kLanes)) {
    const double fitted =
        slope * ((first >> 4) - 8 - mean_high);  // these lanes share one high nibble
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const int32_t code = first + static_cast<int32_t>(lane);
      const double deviation = (code - 128) - mean_code;
      const double error = deviation - fitted;
      const double part = static_cast<int32_t>(counts[static_cast<size_t>(code)]) * (error * error);
      lane_errors[lane] += part;
      lane_weighted[lane] += part * (deviation * deviation);
    }
  }
  const double errors = SumOf(lane_errors);
  const double weighted = SumOf(lane_weighted);
  // An error is never larger than the product of the norms.
  const double certain = std::sqrt(errors) / double{kMarginDeviations};
  const double likely =
      tells ? std::sqrt(std::max(errors / n, weighted / std::max(squares, 1.0))) : certain;
  constexpr double kMinSpread = 0.0625;  // more than rounding adds to an exact fit
  header->slope = static_cast<float>(slope);
  header->offset = static_cast<float>(-slope * (mean_high + 8));
  header->spread = static_cast<float>(std::max(std::min(likely, certain), kMinSpread));
}

// Completes the header of a row of 12-bit codes; its mean and scale are already set.
void SetHeader(std::span<const uint16_t> codes, HnswMetric metric, bool with_residual,
               RowHeader* header) {
  CodeCounts counts{};
  int32_t fine_sum = 0;  // the largest dimension times 2^11 fits
  int64_t fine_squares = 0;
  for (const uint16_t code : codes) {
    ++counts[code >> 4];
    const int32_t fine = code - 16 * 128 - 8;
    fine_sum += fine;
    fine_squares += fine * fine;
  }
  const CodeSums sums = SumsOf(counts);
  const size_t n = codes.size();
  const double unit = double{header->scale} * double{header->scale};
  const double squares =
      AboutMean(static_cast<double>(sums.code_squares), static_cast<double>(sums.codes), n);
  const double fine = AboutMean(static_cast<double>(fine_squares), fine_sum, n) / 256.0;
  header->mean_code = static_cast<float>(static_cast<double>(sums.codes) / static_cast<double>(n));
  header->bias = BiasOf(metric, unit * squares);
  header->fine_bias = with_residual ? BiasOf(metric, unit * fine) : header->bias;
  FitHigh(counts, sums, codes.size(), header);
}

// Sets the fields that depend on the metric and on the sums of squares: `squares` of the high part,
// `wide_squares` of 256 high + low.
void SetMetric(HnswMetric metric, const CodeLayout& layout, double squares, double wide_squares,
               EncodedQuery* query) {
  const double unit = double{query->scale} * double{query->scale};
  const bool l2 = metric == HnswMetric::kL2;
  query->factor = l2 ? 2.0F : 1.0F;
  // A product of means replaces a difference of squares: with large row means, that difference
  // would cancel to nothing but rounding.
  const auto n = static_cast<float>(layout.dimension);
  query->weight = metric == HnswMetric::kDot ? 0.0F : (l2 ? 1.0F : 0.5F) * n;
  query->cross = metric == HnswMetric::kDot ? -n * query->mean : 0.0F;
  const double high = AboutMean(squares, query->sum_high, layout.dimension);
  const double wide =
      AboutMean(wide_squares, 256.0 * query->sum_high + query->sum_low, layout.dimension);
  query->base = BiasOf(metric, unit * high);
  query->fine_base = BiasOf(metric, unit * wide / 65536.0);
  query->deviation = static_cast<float>(std::sqrt(unit * high));
  const double mean = query->mean;
  query->norm = static_cast<float>(std::sqrt(unit * high + double{n} * mean * mean));
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
  return SumOf(sums);
}

RowHeader EncodeRow(std::span<const float> row, const CodeLayout& layout, HnswMetric metric,
                    uint8_t* high, uint8_t* low, uint8_t* residual) {
  RUVD_CHECK(row.size() == layout.dimension);
  RowHeader header{.mean = MeanOf(row)};
  const float scale = LargestDeviation(row, header.mean) / kLargestCode;
  const float inverse = scale > 0 ? 1.0F / scale : 0.0F;
  // all values are equal, or the scale is too small for a float's inverse
  if (!std::isfinite(inverse) || scale == 0) {
    std::memset(high, kZeroNibbles, layout.plane_bytes);
    std::memset(low, 0, layout.plane_bytes);
    if (residual != nullptr) {
      std::memset(residual, kZeroResiduals, layout.plane_bytes);
    }
    return header;
  }
  header.scale = scale;
  std::vector<uint16_t> codes(layout.padded, 128 * 16 + 8);
  for (size_t i = 0; i < row.size(); ++i) {
    const float value = (row[i] - header.mean) * inverse;
    const int code = static_cast<int>(value + 128.5F);  // positive: truncation is the floor
    const float rest = value - static_cast<float>(code - 128);
    const int fine = std::min(static_cast<int>(rest * 16.0F + 8.5F), 15);
    codes[i] = static_cast<uint16_t>(code * 16 + fine);
  }
  WritePlanes(codes, layout.plane_bytes, high, low, residual);
  SetHeader({codes.data(), row.size()}, metric, residual != nullptr, &header);
  return header;
}

void EncodeQuery(std::span<const float> values, const CodeLayout& layout, HnswMetric metric,
                 EncodedQuery* query) {
  RUVD_CHECK(values.size() == layout.dimension);
  query->high.assign(layout.padded, 0);
  query->low.assign(layout.padded, 0);
  query->mean = MeanOf(values);
  const float largest = LargestDeviation(values, query->mean);
  const float step = largest / static_cast<float>(kLargestWide);
  const float inverse = step > 0 ? 1.0F / step : 0.0F;
  const bool zero = !std::isfinite(inverse) || step == 0;
  query->scale = zero ? 0.0F : step * 256.0F;
  query->sum_high = 0;
  query->sum_low = 0;
  int64_t squares = 0;
  int64_t wide_squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const float scaled = zero ? 0.0F : (values[i] - query->mean) * inverse;
    const int wide = static_cast<int>(scaled + 32768.5F) - 32768;
    const int high = (wide + 128 + 32768) / 256 - 128;  // floor((wide + 128) / 256)
    query->high[i] = static_cast<int8_t>(high);
    query->low[i] = static_cast<int8_t>(wide - 256 * high);
    query->sum_high += high;
    query->sum_low += wide - 256 * high;
    squares += high * high;
    wide_squares += int64_t{wide} * wide;
  }
  SetMetric(metric, layout, static_cast<double>(squares), static_cast<double>(wide_squares), query);
}

void QueryFromRow(const uint8_t* high, const uint8_t* low, const RowHeader& header,
                  const CodeLayout& layout, HnswMetric metric, EncodedQuery* query) {
  query->high.resize(layout.padded);
  int8_t* out = query->high.data();
  const size_t bytes = layout.plane_bytes;
  // Works byte by byte, without widening, so that the loop is a few vector instructions.
  for (size_t j = 0; j < bytes; ++j) {
    const auto first = static_cast<uint8_t>((high[j] << 4) | (low[j] & 15));
    const auto second = static_cast<uint8_t>((high[j] & 0xF0) | (low[j] >> 4));
    out[j] = static_cast<int8_t>(first ^ 0x80);
    out[bytes + j] = static_cast<int8_t>(second ^ 0x80);
  }
  int32_t sum = 0;
  int32_t squares = 0;
  for (size_t j = 0; j < layout.padded; ++j) {
    sum += out[j];
    squares += out[j] * out[j];
  }
  query->sum_high = sum;
  query->sum_low = 0;
  query->scale = header.scale;
  query->mean = header.mean;
  SetMetric(metric, layout, squares, 65536.0 * squares, query);
}

}  // namespace ruvd::storage::hnsw
