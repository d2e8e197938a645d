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

// Distances from one query to nodes, by their codes. All sums are integers and are scaled in the
// same order everywhere, so distances are equal bit for bit on every machine.
class Distances {
 public:
  // All three outlive this.
  Distances(const NodeStore& nodes, const EncodedQuery& query, DistanceBuffers& buffers);

  // 8-bit distances of those nodes that may be nearer than `bound`: ids to buffers.kept, distances
  // to buffers.distances, in the order of `ids`. Returns how many. Most nodes are rejected by the
  // high plane alone: each row's header says how well it tells the row, and a node is rejected only
  // if it is farther than the bound by kMarginDeviations standard deviations of the error.
  size_t Within(std::span<const uint32_t> ids, float bound) const;

  // Of each node whether its 8-bit distance is below its own bound: the nodes that are not go to
  // buffers.kept as places in `ids`. Returns how many.
  size_t NotBelow(std::span<const uint32_t> ids, std::span<const float> bounds) const;

  // Distances by the 12 bits of a row, or 8 without residuals, and the 16 of the query: for the
  // final order. Not for queries made from rows.
  void Fine(std::span<const uint32_t> ids, std::span<float> out) const;

 private:
  float CodeDistance(uint32_t node, int32_t high, int32_t low) const {
    const RowHeader& header = nodes_.header(node);
    const float product =
        static_cast<float>(16 * high + low - 128 * query_.sum_high) - header.mean_code * sum_high_;
    return Constant(header) - header.scale * (per_product_ * product);
  }
  // What does not depend on the product of the codes.
  float Constant(const RowHeader& header) const {
    const float difference = query_.mean - header.mean;
    return query_.base + header.bias + query_.weight * difference * difference +
           query_.cross * header.mean;
  }
  // The distance that the high plane's product leaves likely, less or more than it by the margin.
  float Coarse(const RowHeader& header, int32_t high, float margin) const {
    const float product = header.slope * static_cast<float>(high) + header.offset * sum_high_;
    return Constant(header) - header.scale * (per_product_ * product + margin * header.spread);
  }
  float Nearest(const RowHeader& header, int32_t high) const {
    return Coarse(header, high, margin_);
  }
  float Farthest(const RowHeader& header, int32_t high) const {
    return Coarse(header, high, -margin_);
  }
  void Products(const int8_t* query, const uint8_t* plane, std::span<const uint32_t> ids,
                int32_t* out) const;

  const NodeStore& nodes_;
  const EncodedQuery& query_;
  DistanceBuffers& buffers_;
  const DotNibblesFunction dot_;
  // Distances for each unit of the row's scale: of a unit of the product, and of a unit of the
  // row's spread.
  const float per_product_;
  const float margin_;
  const float sum_high_;
};

}  // namespace ruvd::storage::hnsw
