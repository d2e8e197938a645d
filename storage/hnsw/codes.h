// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/hnsw/kernels/nibble_kernels.h"
#include "storage/hnsw/metric.h"

// Rows are kept as codes: a value x of a row is about m + s (c + (r - 8) / 16), with the row's mean
// m and scale s, an 8-bit code c from -127 to 127 and a residual r from 0 to 15. When most values
// of a row are equal, they are all rounded to the same side. Codes are therefore taken about their
// own mean, so that the coded row has the mean m too. The bits lie in three planes of nibbles:
//
//   high      (c + 128) >> 4      coarse distances, enough to reject most candidates
//   low       (c + 128) & 15      with high: the 8-bit code, for traversal
//   residual  r                   with both: 12 bits, for the final order
//
// Byte j of a plane holds value j in its low nibble and value j + plane_bytes in its high nibble.
// Each plane is a memory region of its own, so that a stage reads no more cache lines than it
// needs. The idea of a second code for the residual is from Aguerrebere et al., "Similarity search
// in the blink of an eye with compressed indices" (VLDB 2023).
namespace ruvd::storage::hnsw {

// Returns the sum of squares in double precision, added in the same order on every machine.
double SquaredNorm(std::span<const float> values);

// The sizes of the codes for one dimension.
struct CodeLayout {
  explicit CodeLayout(size_t values)
      : dimension(values),
        padded((values + kCodePadding - 1) / kCodePadding * kCodePadding),
        plane_bytes(padded / 2) {}

  size_t dimension;
  size_t padded;       // values with padding
  size_t plane_bytes;  // bytes of a row in one plane
};

// A candidate is rejected only when its coarse distance is too large by this many standard
// deviations of the coarse error (see Distances).
inline constexpr float kMarginDeviations = 2.5F;

// The numbers of a row that lie beside its planes. Distances use the norm of the coded row, not of
// the given one: with the exact norm the error of a product, which grows with the norms, would not
// cancel and would hide the differences between rows far from the origin.
struct alignas(32) RowHeader {
  float scale = 0;      // s above
  float mean = 0;       // m above
  float mean_code = 0;  // mean of the row's 8-bit codes
  float bias = 0;       // added to every distance that uses the 8-bit code
  float fine_bias = 0;  // added to every distance that uses the 12-bit code
  // The estimate of the 8-bit code about its mean from the high nibble h is slope * h + offset.
  // `spread` is the standard deviation of that estimate's error.
  float slope = 0;
  float offset = 0;
  float spread = 0;
};

// Writes the planes of a row of `layout.dimension` finite values; `residual` may be null. A row
// whose values are all equal has scale 0.
RowHeader EncodeRow(std::span<const float> row, const CodeLayout& layout, HnswMetric metric,
                    uint8_t* high, uint8_t* low, uint8_t* residual);

// A query in 16 bits: value = mean + scale (high + low / 256). Distances are
//
//   base + bias of the row + weight (mean - mean of the row)^2 + cross * mean of the row
//   - factor * product of the codes,
// Both products are about their means. For the coded vectors this is half the squared distance of
// unit vectors (1 - cosine), minus the inner product, or the squared distance.
struct EncodedQuery {
  std::vector<int8_t> high;  // padded values
  std::vector<int8_t> low;
  int32_t sum_high = 0;
  int32_t sum_low = 0;
  float scale = 0;
  float mean = 0;
  float weight = 0;
  float cross = 0;      // minus the dimension times the mean for inner products, otherwise 0
  float base = 0;       // for products with the high part
  float fine_base = 0;  // for products with both parts
  float factor = 1;
  float deviation = 0;  // norm of the high part about its mean
  float norm = 0;       // norm of the high part about zero
};

// Encodes `values`, which are layout.dimension finite values, of norm 1 for cosine.
void EncodeQuery(std::span<const float> values, const CodeLayout& layout, HnswMetric metric,
                 EncodedQuery* query);

// Makes a query from a row's 8-bit code, to compare the row with others. `low` of the query is not
// set and must not be used.
void QueryFromRow(const uint8_t* high, const uint8_t* low, const RowHeader& header,
                  const CodeLayout& layout, HnswMetric metric, EncodedQuery* query);

}  // namespace ruvd::storage::hnsw
