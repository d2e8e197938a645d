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
#include "base/parallel.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// How the factors of a frame are computed.
enum class FrameKind : uint8_t {
  kCovariance,  // eigenvectors of E[x x^T] of the inputs and E[g g^T] of the output gradients
  kGradient,    // singular vectors of the mean weight gradient E[g x^T]
  kWeight,      // singular vectors of the weight
  kRandom,      // a random subspace from a seed
};
std::string_view FrameKindName(FrameKind kind);  // "cov", "grad", "svd", "random"
std::optional<FrameKind> FrameKindByName(std::string_view name);

// The fixed outer factors of one linear layer: y += P R Q x. The vectors of the largest eigenvalues
// come first, so that the leading r vectors are a frame of rank r.
struct ModuleFrame {
  int rank = 0;
  int in = 0;
  int out = 0;
  std::vector<float> p;  // rank x out: row i is column i of P; orthonormal
  std::vector<float> q;  // rank x in: rows of Q; orthonormal
  // rank x rank, row major like R: the diagonal of the Fisher information of the values of R at R =
  // 0, which is the mean over texts of the squared derivative of the training loss of one masking,
  // in (nats per token)^2. It is finite and at least 0; that of a lower rank r is the leading r x r
  // block. Empty: unknown.
  std::vector<float> fisher;
};

// The frames of a model's linear layers, computed once and shared by all nodes of a cluster.
// Adapters in a frame are linear in the trained part, so their averages are exact (Fed-SB, arXiv
// 2502.15436). A frame set is not changed once built.
struct FrameSet {
  Digest id{};  // ContentId of this frame set
  Digest model_hash{};
  FrameKind kind = FrameKind::kRandom;
  std::map<std::string, ModuleFrame> modules;  // by base tensor name

  // Whether the Fisher information is known, which is so for all modules or for none.
  bool has_fisher() const;
};

// Returns a SHA-256 of everything except the id.
Digest ContentId(const FrameSet& frame);

// Returns a frame of random subspaces, each from the seed and its target's name. INVALID_ARGUMENT
// if there is no target, if the model does not have a target, or if the rank is outside 1 to
// limits::kMaxAdapterRank. If a side of a matrix is shorter than the rank, its length is the rank.
absl::StatusOr<FrameSet> RandomFrameSet(const Model& model, std::span<const std::string> targets,
                                        int rank, uint64_t seed);

// Returns a frame of nearly the leading singular vectors of the weights, from a fixed number of
// products. Errors are as for RandomFrameSet. Layers are shared out over `runner`; the frame is the
// same on every machine and for any number of threads.
absl::StatusOr<FrameSet> WeightFrameSet(const Model& model, std::span<const std::string> targets,
                                        int rank, ParallelRunner& runner);

// Returns FRAME_MISMATCH for a frame of another model, or with a target or shape that the model
// does not have.
absl::Status CheckFrameSet(const FrameSet& frame, const Model& model);

// Returns the frame as a GGUF file: general.type "frame", ruvd.frame.kind, ruvd.frame.model_hash,
// ruvd.frame.id, and for each target the float32 tensors <target>.frame_p (out, rank),
// <target>.frame_q (in, rank) and, if it is known, <target>.frame_fisher (rank, rank). Equal frames
// give equal bytes.
absl::StatusOr<std::string> SerializeFrameSet(const FrameSet& frame);
// Writes the file, replacing an existing one atomically.
absl::Status SaveFrameSet(const FrameSet& frame, const std::string& path);

// Reads what SerializeFrameSet wrote. Limits are checked before memory is allocated. The content
// must have the id that the file states, the factors must be orthonormal, and the Fisher
// information must be finite, at least 0, and there for all targets or for none. Otherwise
// FRAME_MISMATCH, saying what is wrong.
absl::StatusOr<FrameSet> ParseFrameSet(std::span<const uint8_t> bytes);
// Reads a file. Further errors, naming the file: FILE_NOT_FOUND and FILE_UNREADABLE.
absl::StatusOr<FrameSet> LoadFrameSet(const std::string& path);

}  // namespace ruvd::inference
