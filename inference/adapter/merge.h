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

// Adapters made of adapters, off the request path. What is combined are the changes of the weights,
// scale * B A, never factors of different adapters: those have no common meaning.

enum class MergeMethod : uint8_t {
  kSum,    // weighted sum of the changes
  kTies,   // TIES (Yadav et al. 2023, arXiv 2306.01708): keep the largest entries of each change of
           // a target, elect for each entry the sign with the greater weighted mass, take the
           // weighted mean of those that agree
  kDare,   // DARE (Yu et al. 2023, arXiv 2311.03099): drop entries at random, scale the rest up,
           // then sum
  kSlerp,  // of two: along the great circle through both changes of a target (Shoemake 1985)
};
std::string_view MergeMethodName(MergeMethod method);  // "sum", "ties", "dare", "slerp"
std::optional<MergeMethod> MergeMethodByName(std::string_view name);

struct MergeOptions {
  MergeMethod method = MergeMethod::kSum;
  // Largest rank of the result; 0: whatever is exact for kSum and kSlerp (the sum of the ranks, or
  // the common rank in a frame), the largest rank of the parts for the others. A change that needs
  // more than a rank that is given is cut to its leading singular vectors.
  int rank = 0;
  float density = 0.2F;   // kTies: share of entries kept; kDare: probability to keep one
  float position = 0.5F;  // kSlerp: 0 is the first adapter, 1 the second
  uint64_t seed = 0;      // kDare
};

struct MergePart {
  std::shared_ptr<const Adapter> adapter;
  float weight = 1.0F;  // not used by kSlerp
};

// The merged adapter, scale 1. Parts that are all kFfa or all kCore of one frame, with the same A
// factors, are merged there, exactly and at their rank: `rank` must be 0. The result is of that
// kind and frame, but for kTies and kDare of cores: what they leave of single entries of B = P R is
// kFfa. Everything else becomes kLora; kTies and kDare then work on the full matrix of one target
// at a time. INVALID_ARGUMENT for no parts, a number out of range, kTies with a weight that is not
// positive, kSlerp of other than two parts, a full matrix of more than limits::kMaxMergedValues, an
// exact result of a rank above limits::kMaxAdapterRank;
// ADAPTER_FOR_OTHER_MODEL for adapters of different models, ADAPTER_INVALID for a target whose
// shapes differ.
absl::StatusOr<std::shared_ptr<const Adapter>> MergeAdapters(std::span<const MergePart> parts,
                                                             const MergeOptions& options,
                                                             std::string name, uint32_t version);

// The same change with at most `rank` on each target: its leading singular vectors, the best
// approximation in the Frobenius norm (Eckart and Young 1936). Scale 1; B carries the singular
// values. rank >= 1.
std::shared_ptr<const Adapter> Refactored(const Adapter& adapter, int rank);

// Inner product of the changes <scale B A, scale' B' A'> (Frobenius), from the factors alone. The
// shapes are equal.
double ChangeDot(const LowRank& a, const LowRank& b);

}  // namespace ruvd::inference
