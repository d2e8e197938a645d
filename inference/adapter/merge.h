// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"

namespace ruvd::inference {

// Builds adapters from other adapters, off the request path. The changes of the weights, scale * B
// A, are combined, and not the factors: factors of different adapters have no common meaning.

enum class MergeMethod : uint8_t {
  kSum,  // weighted sum of the changes
  // TIES (Yadav et al. 2023, arXiv 2306.01708): keeps the largest entries of each change of a
  // target, chooses for each entry the sign with the greater weighted mass, and takes the weighted
  // mean of the entries with that sign.
  kTies,
  // DARE (Yu et al. 2023, arXiv 2311.03099): drops entries at random, scales the others up, then
  // sums.
  kDare,
  kSlerp,  // for two parts: along the great circle through both changes of a target (Shoemake 1985)
};
std::string_view MergeMethodName(MergeMethod method);  // "sum", "ties", "dare", "slerp"
std::optional<MergeMethod> MergeMethodByName(std::string_view name);

struct MergeOptions {
  MergeMethod method = MergeMethod::kSum;
  // Largest rank of the result. 0 means the exact rank for kSum and kSlerp (the sum of the ranks,
  // or the common rank in a frame), and the largest rank of the parts for the other methods. A
  // change that needs a higher rank is reduced to its leading singular vectors.
  int rank = 0;
  float density = 0.2F;   // kTies: share of entries kept; kDare: probability of keeping one
  float position = 0.5F;  // kSlerp: 0 is the first adapter, 1 the second
  uint64_t seed = 0;      // for kDare
};

struct MergePart {
  std::shared_ptr<const Adapter> adapter;
  float weight = 1.0F;  // not used by kSlerp
};

// Returns the merged adapter, with scale 1. Parts that are all kFfa or all kCore of one frame, with
// the same A factors, are merged within the frame, exactly and at their rank; `rank` must then be
// 0. The result has the same kind and frame, except that kTies and kDare turn cores into kFfa,
// because changing single entries of B = P R leaves the span of P. All other parts become kLora;
// kTies and kDare then work on the full matrix of one target at a time.
//
// Errors: INVALID_ARGUMENT for no parts, a number out of range, kTies with a weight that is not
// positive, kSlerp of a number of parts other than two, a full matrix of more than
// limits::kMaxMergedValues, or an exact result with a rank above limits::kMaxAdapterRank;
// ADAPTER_FOR_OTHER_MODEL for adapters of different models; ADAPTER_INVALID for a target whose
// shapes differ.
absl::StatusOr<std::shared_ptr<const Adapter>> MergeAdapters(std::span<const MergePart> parts,
                                                             const MergeOptions& options,
                                                             std::string name, uint32_t version);

// Returns the (Frobenius) inner product of two changes <scale B A, scale' B' A'>, from the factors
// alone. The shapes must be equal.
double ChangeDot(const LowRank& a, const LowRank& b);

}  // namespace ruvd::inference
