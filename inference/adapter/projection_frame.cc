// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/projection_frame.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/limits.h"
#include "inference/numerics/orthonormal.h"

namespace ruvd::inference {
namespace {

constexpr std::string_view kKind = "random-frame-1";

Digest FrameId(const Model& model, std::string_view target, int rank, uint64_t seed) {
  ByteWriter out;
  out.WriteText(kKind).WriteBytes(model.hash());
  out.Write(static_cast<uint32_t>(rank)).Write(seed).WriteText(target);
  return Sha256(out.str());
}

}  // namespace

absl::StatusOr<ProjectionFrame> RandomFrame(const Model& model, int rank, uint64_t seed) {
  ProjectionFrame frame;
  frame.target = LastLayerTensor(model, "attn_output");
  const Matrix* matrix = FindMatrix(model, frame.target);
  RUVD_CHECK(matrix != nullptr);
  frame.in = matrix->columns;
  frame.out = matrix->rows;
  if (rank < 1 || rank > std::min({frame.in, frame.out, limits::kMaxAdapterRank})) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a frame of this model must have rank 1 to {}, not {}",
                 std::min({frame.in, frame.out, limits::kMaxAdapterRank}), rank);
  }
  frame.rank = rank;
  frame.model_hash = model.hash();
  frame.id = FrameId(model, frame.target, rank, seed);
  Random random(seed);
  const std::vector<double> q = OrthonormalRows(rank, frame.in, random);
  const std::vector<double> p = OrthonormalRows(rank, frame.out, random);
  frame.q.assign(q.begin(), q.end());
  frame.p.resize(p.size());
  const auto r = static_cast<size_t>(rank);
  const auto out = static_cast<size_t>(frame.out);
  for (size_t column = 0; column < r; ++column) {
    for (size_t row = 0; row < out; ++row) {
      frame.p[row * r + column] = static_cast<float>(p[column * out + row]);
    }
  }
  return frame;
}

absl::StatusOr<std::shared_ptr<const Adapter>> AdapterFromCore(const ProjectionFrame& frame,
                                                               std::span<const float> core,
                                                               std::string name, uint32_t version,
                                                               float scale) {
  const auto rank = static_cast<size_t>(frame.rank);
  if (core.size() != rank * rank) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
                 "a core of this frame must have {} values, not {}; refuse the update", rank * rank,
                 core.size());
  }
  for (const float value : core) {
    if (!std::isfinite(value)) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
                   "the core holds a value that is not finite; refuse the update");
    }
  }
  LowRank change{.rank = frame.rank, .in = frame.in, .out = frame.out, .a = frame.q};
  change.scale = scale;
  change.b.assign(static_cast<size_t>(frame.out) * rank, 0.0F);
  for (size_t row = 0; row < static_cast<size_t>(frame.out); ++row) {
    for (size_t column = 0; column < rank; ++column) {
      double sum = 0;
      for (size_t k = 0; k < rank; ++k) {
        sum += static_cast<double>(frame.p[row * rank + k]) *
               static_cast<double>(core[k * rank + column]);
      }
      change.b[row * rank + column] = static_cast<float>(sum);
    }
  }
  auto adapter = std::make_shared<Adapter>();
  adapter->name = std::move(name);
  adapter->version = version;
  adapter->model_hash = frame.model_hash;
  adapter->targets.emplace(frame.target, std::move(change));
  return adapter;
}

}  // namespace ruvd::inference
