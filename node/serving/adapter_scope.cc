// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/adapter_scope.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/state/number_bytes.h"

namespace ruvd::serving {
namespace {

float Norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) {
    sum += static_cast<double>(value) * value;
  }
  return static_cast<float>(std::sqrt(sum));
}

double Product(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * b[i];
  }
  return sum;
}

std::vector<float> Normalised(std::span<const float> values) {
  const float norm = Norm(values);
  std::vector<float> result(values.begin(), values.end());
  for (float& value : result) {
    value /= norm;
  }
  return result;
}

}  // namespace

std::optional<AdapterScope> BuildAdapterScope(const Digest& embedded_by,
                                              std::span<const std::vector<float>> embeddings,
                                              float similarity) {
  AdapterScope scope{.embedded_by = embedded_by, .centroids = {}};
  std::vector<std::vector<float>> sums;  // the sum of the members of each centroid
  for (const std::vector<float>& embedding : embeddings) {
    if (!(Norm(embedding) > 0)) {
      continue;
    }
    const std::vector<float> own = Normalised(embedding);
    size_t nearest = 0;
    double best = -2;
    for (size_t i = 0; i < scope.centroids.size(); ++i) {
      const double cosine = Product(scope.centroids[i], own);
      if (cosine > best) {
        best = cosine;
        nearest = i;
      }
    }
    if (best < similarity && scope.centroids.size() < limits::kMaxScopeCentroids) {
      scope.centroids.push_back(own);
      sums.push_back(own);
      continue;
    }
    for (size_t i = 0; i < own.size(); ++i) {
      sums[nearest][i] += own[i];
    }
    if (Norm(sums[nearest]) > 0) {
      scope.centroids[nearest] = Normalised(sums[nearest]);
    }
  }
  return scope.centroids.empty() ? std::nullopt : std::optional(std::move(scope));
}

bool Covers(const AdapterScope& scope, std::span<const float> embedding, float similarity) {
  const float norm = Norm(embedding);
  return norm > 0 && std::ranges::any_of(scope.centroids, [&](const std::vector<float>& centroid) {
           return centroid.size() == embedding.size() &&
                  Product(centroid, embedding) >= static_cast<double>(similarity) * norm;
         });
}

storage::v1::AdapterReach ToStored(const AdapterScope& scope) {
  storage::v1::AdapterReach stored;
  stored.set_embedded_by(std::string(AsText(scope.embedded_by)));
  for (const std::vector<float>& centroid : scope.centroids) {
    stored.set_length(static_cast<uint32_t>(centroid.size()));
    stored.mutable_centroids()->append(storage::NumberBytes<float>(centroid));
  }
  return stored;
}

absl::StatusOr<AdapterScope> FromStored(const storage::v1::AdapterReach& stored) {
  AdapterScope scope;
  const size_t length = stored.length();
  const size_t bytes = length * sizeof(float);
  const bool fits = length <= limits::kMaxScopeLength &&
                    stored.centroids().size() <= bytes * limits::kMaxScopeCentroids &&
                    (bytes == 0 || stored.centroids().size() % bytes == 0);
  const auto values = fits ? storage::NumbersOf<float>(stored.centroids()) : std::nullopt;
  if (!values || !storage::CopyTo(stored.embedded_by(), &scope.embedded_by)) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "the stored value does not describe the prompts of an adapter; the next deep round "
        "publishes a new one");
  }
  for (auto at = values->begin(); at != values->end(); at += static_cast<ptrdiff_t>(length)) {
    scope.centroids.emplace_back(at, at + static_cast<ptrdiff_t>(length));
  }
  return scope;
}

}  // namespace ruvd::serving
