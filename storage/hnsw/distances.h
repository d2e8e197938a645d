// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "storage/hnsw/codes.h"
#include "storage/hnsw/node_store.h"
#include "storage/hnsw/search_scratch.h"

namespace ruvd::storage::hnsw {

// Computes distances from one query to nodes by their codes. All sums are integers and are scaled
// in the same order everywhere, so distances are equal bit for bit on every machine.
class Distances {
 public:
  // All three arguments must outlive this object.
  Distances(const NodeStore& nodes, const EncodedQuery& query, DistanceBuffers& buffers);

  // Computes the 8-bit distances of those nodes that may be nearer than `bound`: writes their ids
  // to buffers.kept and the distances to buffers.distances, in the order of `ids`. Returns their
  // number. The high plane alone rejects most nodes: each row's header says how well that plane
  // describes the row, and a node is rejected only when it is farther than the bound by
  // kMarginDeviations standard deviations of the error.
  size_t FilterWithin(std::span<const uint32_t> ids, float bound) const;

  // Finds the nodes whose 8-bit distance is not below the bound at the same place of `bounds`:
  // writes their places in `ids` to buffers.kept. Returns their number.
  size_t FindNotBelow(std::span<const uint32_t> ids, std::span<const float> bounds) const;

  // Computes distances from the 12 bits of a row (8 without residuals) and the 16 bits of the
  // query, for the final order. The query must not be made from a row.
  void FineDistances(std::span<const uint32_t> ids, std::span<float> out) const;

 private:
  float CodeDistance(uint32_t node, int32_t high, int32_t low) const {
    const RowHeader& header = nodes_.header(node);
    const float product =
        static_cast<float>(16 * high + low - 128 * query_.sum_high) - header.mean_code * sum_high_;
    return ConstantTerm(header) - header.scale * (per_product_ * product);
  }
  // Returns the terms that do not depend on the product of the codes.
  float ConstantTerm(const RowHeader& header) const {
    const float difference = query_.mean - header.mean;
    return query_.base + header.bias + query_.weight * difference * difference +
           query_.cross * header.mean;
  }
  // Returns the distance that is likely from the product with the high plane, reduced by `margin`
  // for each unit of the row's spread; a negative margin increases it.
  float CoarseDistance(const RowHeader& header, int32_t high, float margin) const {
    const float product = header.slope * static_cast<float>(high) + header.offset * sum_high_;
    return ConstantTerm(header) - header.scale * (per_product_ * product + margin * header.spread);
  }
  float Nearest(const RowHeader& header, int32_t high) const {
    return CoarseDistance(header, high, margin_);
  }
  float Farthest(const RowHeader& header, int32_t high) const {
    return CoarseDistance(header, high, -margin_);
  }
  void Products(const int8_t* query, const uint8_t* plane, std::span<const uint32_t> ids,
                int32_t* out) const;

  const NodeStore& nodes_;
  const EncodedQuery& query_;
  DistanceBuffers& buffers_;
  const DotNibblesFunction dot_;
  // Factors from the row's scale to a distance: per_product_ for one unit of the product, margin_
  // for one unit of the row's spread.
  const float per_product_;
  const float margin_;
  const float sum_high_;
};

}  // namespace ruvd::storage::hnsw
