// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/frame_set.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>

#include "base/random.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/limits.h"
#include "inference/model/linear.h"
#include "inference/numerics/dense.h"
#include "inference/numerics/orthonormal.h"

namespace ruvd::inference {
namespace {

// Nodes compute a frame of the weights when they start. For the 29M model this takes 5 seconds of
// one core, and to the last digit it would take 110; the vectors that it gives hold 94 to 99 % of
// the squares that the exact ones hold.
constexpr SearchEffort kWeightEffort = {.restarts = 1, .blocks = 3};

constexpr std::array<std::pair<FrameKind, std::string_view>, 4> kKindNames = {{
    {FrameKind::kCovariance, "cov"},
    {FrameKind::kGradient, "grad"},
    {FrameKind::kWeight, "svd"},
    {FrameKind::kRandom, "random"},
}};

std::span<const uint8_t> FloatBytes(const std::vector<float>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)};
}

// Returns a frame in which `make` fills the module of each target, given its matrix and rank. It is
// called on the threads of `runner`.
using MakeModule =
    std::function<void(const std::string& target, const Matrix& matrix, ModuleFrame* module)>;
absl::StatusOr<FrameSet> MakeFrame(const Model& model, std::span<const std::string> targets,
                                   int rank, FrameKind kind, ParallelRunner& runner,
                                   const MakeModule& make) {
  if (targets.empty() || rank < 1 || rank > limits::kMaxAdapterRank) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a frame must have a rank from 1 to {} and at least one target, but this one has "
                 "rank {} and {} targets",
                 limits::kMaxAdapterRank, rank, targets.size());
  }
  std::vector<const Matrix*> matrices;
  for (const std::string& target : targets) {
    matrices.push_back(FindMatrix(model, target));
    if (matrices.back() == nullptr) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "{} is not a linear layer of {}; give a name like blk.0.attn_q.weight",
                   SanitizeForDisplay(target), model.config().name);
    }
  }
  std::vector<ModuleFrame> modules(targets.size());
  runner.For(targets.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Matrix& matrix = *matrices[i];
      modules[i] = {.rank = std::min({rank, matrix.rows, matrix.columns}),
                    .in = matrix.columns,
                    .out = matrix.rows,
                    .p = {},
                    .q = {},
                    .fisher = {}};
      make(targets[i], matrix, &modules[i]);
    }
  });
  FrameSet frame{.id = {}, .model_hash = model.hash(), .kind = kind, .modules = {}};
  for (size_t i = 0; i < targets.size(); ++i) {
    frame.modules.insert_or_assign(targets[i], std::move(modules[i]));
  }
  frame.id = ContentId(frame);
  return frame;
}

}  // namespace

std::string_view FrameKindName(FrameKind kind) {
  const auto* found = std::find_if(kKindNames.begin(), kKindNames.end(),
                                   [kind](const auto& entry) { return entry.first == kind; });
  return found->second;
}

std::optional<FrameKind> FrameKindByName(std::string_view name) {
  for (const auto& [kind, known] : kKindNames) {
    if (known == name) {
      return kind;
    }
  }
  return std::nullopt;
}

bool FrameSet::has_fisher() const {
  return !modules.empty() && std::ranges::none_of(modules, [](const auto& entry) {
    return entry.second.fisher.empty();
  });
}

Digest ContentId(const FrameSet& frame) {
  const bool fisher = frame.has_fisher();
  ByteWriter out;
  out.WriteText(fisher ? "ruvd-frame-2" : "ruvd-frame-1").WriteBytes(frame.model_hash);
  out.Write(static_cast<uint8_t>(frame.kind)).Write(static_cast<uint32_t>(frame.modules.size()));
  for (const auto& [target, module] : frame.modules) {
    out.Write(static_cast<uint16_t>(target.size())).WriteText(target);
    for (const int size : {module.rank, module.in, module.out}) {
      out.Write(static_cast<uint32_t>(size));
    }
    // Each factor enters as a digest, so that the factors are not copied.
    out.WriteBytes(Sha256(FloatBytes(module.p))).WriteBytes(Sha256(FloatBytes(module.q)));
    if (fisher) {
      out.WriteBytes(Sha256(FloatBytes(module.fisher)));
    }
  }
  return Sha256(out.str());
}

absl::StatusOr<FrameSet> RandomFrameSet(const Model& model, std::span<const std::string> targets,
                                        int rank, uint64_t seed) {
  return MakeFrame(
      model, targets, rank, FrameKind::kRandom, SerialRunner(),
      [seed](const std::string& target, const Matrix&, ModuleFrame* module) {
        const Digest mixed = Sha256(ByteWriter().Write(seed).WriteText(target).str());
        uint64_t own = 0;
        std::memcpy(&own, mixed.data(), sizeof own);
        Random random(own);
        const std::vector<double> q = OrthonormalRows(module->rank, module->in, random);
        const std::vector<double> p = OrthonormalRows(module->rank, module->out, random);
        module->q.assign(q.begin(), q.end());
        module->p.assign(p.begin(), p.end());
      });
}

absl::StatusOr<FrameSet> WeightFrameSet(const Model& model, std::span<const std::string> targets,
                                        int rank, ParallelRunner& runner) {
  return MakeFrame(model, targets, rank, FrameKind::kWeight, runner,
                   [](const std::string&, const Matrix& matrix, ModuleFrame* module) {
                     std::vector<float> row(static_cast<size_t>(matrix.columns));
                     DenseMatrix weight(static_cast<size_t>(matrix.rows), row.size());
                     for (size_t r = 0; r < weight.rows; ++r) {
                       DecodeRow(matrix, r, row);
                       std::copy(row.begin(), row.end(), weight.row(r));
                     }
                     const SvdFactors top =
                         TopSvd(weight, static_cast<size_t>(module->rank), kWeightEffort);
                     module->p.assign(top.left.values.begin(), top.left.values.end());
                     module->q.assign(top.right.values.begin(), top.right.values.end());
                   });
}

absl::Status CheckFrameSet(const FrameSet& frame, const Model& model) {
  if (frame.model_hash != model.hash()) {
    return Error(
        absl::StatusCode::kFailedPrecondition, reasons::kFrameMismatch,
        "the frame belongs to model {}, but this is model {}; make it again with `ruvd model "
        "frame`",
        ToHex(std::span(frame.model_hash).first(8)), ToHex(std::span(model.hash()).first(8)));
  }
  for (const auto& [target, module] : frame.modules) {
    const Matrix* matrix = FindMatrix(model, target);
    if (matrix == nullptr || matrix->columns != module.in || matrix->rows != module.out) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kFrameMismatch,
                   "the frame has {} as {} x {}, which the model does not have; make it again with "
                   "`ruvd model frame`",
                   SanitizeForDisplay(target), module.out, module.in);
    }
  }
  return absl::OkStatus();
}

}  // namespace ruvd::inference
