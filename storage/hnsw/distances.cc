// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/distances.h"

#include <array>

namespace ruvd::storage::hnsw {
namespace {

template <typename T>
void AtLeast(std::vector<T>* buffer, size_t n) {
  if (buffer->size() < n) {
    buffer->resize(n);
  }
}

}  // namespace

Distances::Distances(const NodeStore& nodes, const EncodedQuery& query, DistanceBuffers& buffers)
    : nodes_(nodes),
      query_(query),
      buffers_(buffers),
      dot_(DotNibbles()),
      per_product_(query.factor * query.scale),
      margin_(query.factor * query.deviation * kMarginDeviations),
      sum_high_(static_cast<float>(query.sum_high)) {}

void Distances::Products(const int8_t* query, const uint8_t* plane, std::span<const uint32_t> ids,
                         int32_t* out) const {
  dot_(query, plane, nodes_.layout().plane_bytes, ids.data(), ids.size(), out);
}

size_t Distances::FilterWithin(std::span<const uint32_t> ids, float bound) const {
  AtLeast(&buffers_.kept, ids.size());
  AtLeast(&buffers_.coarse, ids.size());
  AtLeast(&buffers_.products, ids.size());
  AtLeast(&buffers_.distances, ids.size());
  uint32_t* kept = buffers_.kept.data();
  int32_t* coarse = buffers_.coarse.data();
  for (const uint32_t id : ids) {
    __builtin_prefetch(&nodes_.header(id));
  }
  Products(query_.high.data(), nodes_.high_plane(), ids, coarse);
  size_t n = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (Nearest(nodes_.header(ids[i]), coarse[i]) < bound) {
      kept[n] = ids[i];
      coarse[n++] = coarse[i];
    }
  }
  Products(query_.high.data(), nodes_.low_plane(), {kept, n}, buffers_.products.data());
  for (size_t i = 0; i < n; ++i) {
    buffers_.distances[i] = CodeDistance(kept[i], coarse[i], buffers_.products[i]);
  }
  return n;
}

size_t Distances::FindNotBelow(std::span<const uint32_t> ids, std::span<const float> bounds) const {
  AtLeast(&buffers_.kept, ids.size());
  AtLeast(&buffers_.coarse, ids.size());
  int32_t* coarse = buffers_.coarse.data();
  Products(query_.high.data(), nodes_.high_plane(), ids, coarse);
  size_t n = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const RowHeader& header = nodes_.header(ids[i]);
    bool below = Farthest(header, coarse[i]) < bounds[i];
    if (!below && Nearest(header, coarse[i]) < bounds[i]) {
      int32_t low = 0;
      Products(query_.high.data(), nodes_.low_plane(), ids.subspan(i, 1), &low);
      below = CodeDistance(ids[i], coarse[i], low) < bounds[i];
    }
    if (!below) {
      buffers_.kept[n++] = static_cast<uint32_t>(i);
    }
  }
  return n;
}

void Distances::FineDistances(std::span<const uint32_t> ids, std::span<float> out) const {
  const std::array<const uint8_t*, 3> planes = {nodes_.high_plane(), nodes_.low_plane(),
                                                nodes_.residual_plane()};
  const size_t used = nodes_.has_residual() ? 3 : 2;
  std::vector<int32_t> products(2 * used * ids.size());
  for (size_t p = 0; p < used; ++p) {
    int32_t* of_plane = products.data() + 2 * p * ids.size();
    Products(query_.high.data(), planes[p], ids, of_plane);
    Products(query_.low.data(), planes[p], ids, of_plane + ids.size());
  }
  // Codes are c = 16 high + low - 128 and residuals r - 8; both are summed in sixteenths.
  const auto by = [&](size_t p, size_t part, size_t i) {
    return int64_t{products[(2 * p + part) * ids.size() + i]};
  };
  const std::array<int64_t, 2> sums = {query_.sum_high, query_.sum_low};
  for (size_t i = 0; i < ids.size(); ++i) {
    std::array<int64_t, 2> sixteenths{};
    for (size_t part = 0; part < 2; ++part) {
      sixteenths[part] = 16 * (16 * by(0, part, i) + by(1, part, i) - 128 * sums[part]);
      sixteenths[part] += used == 3 ? by(2, part, i) - 8 * sums[part] : 0;
    }
    const RowHeader& header = nodes_.header(ids[i]);
    const auto query_sum = static_cast<double>(256 * sums[0] + sums[1]) / 256.0;
    const double product = static_cast<double>(256 * sixteenths[0] + sixteenths[1]) / 4096.0 -
                           double{header.mean_code} * query_sum;
    const double dot =
        product * static_cast<double>(query_.scale) * static_cast<double>(header.scale);
    const double difference = double{query_.mean} - double{header.mean};
    out[i] = static_cast<float>(double{query_.fine_base} + double{header.fine_bias} +
                                double{query_.weight} * difference * difference +
                                double{query_.cross} * double{header.mean} -
                                double{query_.factor} * dot);
  }
}

}  // namespace ruvd::storage::hnsw
