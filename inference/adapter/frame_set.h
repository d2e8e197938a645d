// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// Where the factors of a frame come from.
enum class FrameKind : uint8_t {
  kCovariance,  // eigenvectors of E[x x^T] of the inputs and E[g g^T] of the output gradients
  kGradient,    // singular vectors of the mean weight gradient E[g x^T]
  kWeight,      // singular vectors of the weight
  kRandom,      // a seeded random subspace
};
std::string_view FrameKindName(FrameKind kind);  // "cov", "grad", "svd", "random"
std::optional<FrameKind> FrameKindByName(std::string_view name);

// The fixed outer factors of one linear layer: y += P R Q x. The vectors of the largest eigenvalues
// come first, so that the leading r of them are a frame of rank r.
struct ModuleFrame {
  int rank = 0;
  int in = 0;
  int out = 0;
  std::vector<float> p;  // rank x out: row i is column i of P; orthonormal
  std::vector<float> q;  // rank x in: rows of Q; orthonormal
};

// The frames of a model's linear layers, computed once and shared by all nodes of a cluster:
// because adapters in a frame are linear in what is trained, their averages are exact (Fed-SB,
// arXiv 2502.15436). Immutable by convention.
struct FrameSet {
  Digest id{};  // ContentId
  Digest model_hash{};
  FrameKind kind = FrameKind::kRandom;
  std::map<std::string, ModuleFrame> modules;  // by base tensor name
};

// SHA-256 of all but the id.
Digest ContentId(const FrameSet& frame);

// A frame of seeded random subspaces, each from the seed and its target's name. INVALID_ARGUMENT
// for no target, one that the model lacks, or a rank outside of 1 to limits::kMaxAdapterRank; where
// a side of a matrix is shorter, that is its rank.
absl::StatusOr<FrameSet> RandomFrameSet(const Model& model, std::span<const std::string> targets,
                                        int rank, uint64_t seed);

// A frame of the leading singular vectors of the weights. Errors as for RandomFrameSet.
absl::StatusOr<FrameSet> WeightFrameSet(const Model& model, std::span<const std::string> targets,
                                        int rank);

// FRAME_MISMATCH for a frame of another model, or one with a target or shape that it lacks.
absl::Status CheckFrameSet(const FrameSet& frame, const Model& model);

// As a GGUF file: general.type "frame", ruvd.frame.kind, ruvd.frame.model_hash, ruvd.frame.id, and
// per target the float32 tensors <target>.frame_p (out, rank) and <target>.frame_q (in, rank). The
// same frame gives the same bytes.
absl::StatusOr<std::string> SerializeFrameSet(const FrameSet& frame);
// Replaces the file atomically.
absl::Status SaveFrameSet(const FrameSet& frame, const std::string& path);

// Reads what SerializeFrameSet wrote. Limits are checked before anything is allocated; the content
// must have the id that the file states, and the factors must be orthonormal. FRAME_MISMATCH for
// anything else, saying what is wrong.
absl::StatusOr<FrameSet> ParseFrameSet(std::span<const uint8_t> bytes);
// Also FILE_NOT_FOUND and FILE_UNREADABLE; the file is named.
absl::StatusOr<FrameSet> LoadFrameSet(const std::string& path);

}  // namespace ruvd::inference
