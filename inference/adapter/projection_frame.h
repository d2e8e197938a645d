// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/adapter/adapter.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// The fixed outer factors of an R-core adapter, y += P R Q x, which all nodes of a cluster share
// (Fed-SB, arXiv 2502.15436). Because only R is trained, averages of R are exact averages of the
// change.
struct ProjectionFrame {
  Digest id{};  // SHA-256 of model hash, kind, rank, target and seed
  Digest model_hash{};
  std::string target;  // base tensor name
  int rank = 0;
  int in = 0;
  int out = 0;
  std::vector<float> p;  // out x rank, orthonormal columns
  std::vector<float> q;  // rank x in, orthonormal rows
};

// Returns a random frame for the last layer's attn_output matrix: Gaussian entries from a seed,
// orthonormalised. A model, rank and seed determine the frame, on every machine.
absl::StatusOr<ProjectionFrame> RandomFrame(const Model& model, int rank, uint64_t seed);

// Returns the adapter that applies scale * P R Q. `core` is rank x rank, row major. UPDATE_INVALID
// for a wrong size or a value that is not finite.
absl::StatusOr<std::shared_ptr<const Adapter>> AdapterFromCore(const ProjectionFrame& frame,
                                                               std::span<const float> core,
                                                               std::string name, uint32_t version,
                                                               float scale);

}  // namespace ruvd::inference
