// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"

namespace ruvd::storage::v1 {
class AdapterReach;
}  // namespace ruvd::storage::v1

namespace ruvd::serving {

// The prompts that an adapter was learned for: those whose embedding is near one of the centroids.
struct AdapterScope {
  Digest embedded_by{};  // the package that the embeddings come from
  std::vector<std::vector<float>>
      centroids;  // all of one length and norm 1; none: no prompt is covered
  bool operator==(const AdapterScope&) const = default;
};

// Returns the scope of these embeddings, found in a single pass: each embedding joins the nearest
// centroid if its cosine is at least `similarity`, else it begins a new one. After
// limits::kMaxScopeCentroids it always joins the nearest. All embeddings have one length; zero
// vectors are left out. Returns nullopt if nothing remains.
std::optional<AdapterScope> BuildAdapterScope(const Digest& embedded_by,
                                              std::span<const std::vector<float>> embeddings,
                                              float similarity);

// Returns whether the cosine of the embedding and some centroid is at least `similarity`. An
// embedding of another length is never covered.
bool Covers(const AdapterScope& scope, std::span<const float> embedding, float similarity);

// The stored form. FromStored returns INVALID_ARGUMENT for a message with too many or too long
// centroids, and for values that are not finite.
storage::v1::AdapterReach ToStored(const AdapterScope& scope);
absl::StatusOr<AdapterScope> FromStored(const storage::v1::AdapterReach& stored);

}  // namespace ruvd::serving
