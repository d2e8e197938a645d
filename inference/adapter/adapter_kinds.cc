// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/adapter_kinds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "base/random.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/limits.h"
#include "inference/numerics/orthonormal.h"

namespace ruvd::inference {
namespace {

constexpr std::array<std::string_view, 5> kKindNames = {"lora", "micro-lora", "base-lora", "ffa",
                                                        "core"};
constexpr std::array<std::string_view, 3> kModulesNames = {"qv", "attention", "all"};
// The largest part of B, relative to B, that may be lost when it is projected on the frame. It
// allows only for rounding.
constexpr double kFrameLoss = 1e-4;

template <typename Enum, size_t kCount>
std::optional<Enum> ByName(const std::array<std::string_view, kCount>& names,
                           std::string_view name) {
  const auto* found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? std::nullopt
                              : std::optional(static_cast<Enum>(found - names.begin()));
}

template <typename... Args>
absl::Status Invalid(const char* reason, fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reason, "{}",
               fmt::format(what, std::forward<Args>(args)...));
}

// Returns B = P R for the leading rank columns of P (stored as rows) and a rank x rank core.
std::vector<float> Expand(const ModuleFrame& module, std::span<const float> core, size_t rank) {
  const auto out = static_cast<size_t>(module.out);
  // In this order all reads and writes are consecutive; serving waits for an adapter's first use.
  std::vector<double> sums(out * rank);
  for (size_t k = 0; k < rank; ++k) {
    for (size_t row = 0; row < out; ++row) {
      const double p = module.p[k * out + row];
      for (size_t column = 0; column < rank; ++column) {
        sums[row * rank + column] += p * static_cast<double>(core[k * rank + column]);
      }
    }
  }
  std::vector<float> b(out * rank);
  std::ranges::transform(sums, b.begin(), [](double sum) { return static_cast<float>(sum); });
  return b;
}

// Returns R = P^T B. ADAPTER_INVALID if the part of B outside of P is more than rounding.
absl::StatusOr<std::vector<float>> Project(const ModuleFrame& module, const LowRank& change,
                                           std::string_view target) {
  const auto rank = static_cast<size_t>(change.rank);
  const auto out = static_cast<size_t>(module.out);
  std::vector<float> core(rank * rank);
  double inside = 0;
  for (size_t k = 0; k < rank; ++k) {
    for (size_t column = 0; column < rank; ++column) {
      double sum = 0;
      for (size_t row = 0; row < out; ++row) {
        sum += static_cast<double>(module.p[k * out + row]) *
               static_cast<double>(change.b[row * rank + column]);
      }
      inside += sum * sum;
      core[k * rank + column] = static_cast<float>(sum * static_cast<double>(change.scale));
    }
  }
  double whole = 0;
  for (const float value : change.b) {
    whole += static_cast<double>(value) * static_cast<double>(value);
  }
  if (whole - inside > kFrameLoss * whole) {
    return Invalid(reasons::kAdapterInvalid,
                   "the change of {} is not of the form P R Q in this frame; train it again",
                   SanitizeForDisplay(target));
  }
  return core;
}

bool IsFinite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

absl::StatusOr<LowRank> StartChange(const Matrix& matrix, const AdapterPlan& plan,
                                    const std::string& target, const FrameSet* frame,
                                    Random& random) {
  LowRank change{.rank = std::min({plan.rank, matrix.rows, matrix.columns}),
                 .in = matrix.columns,
                 .out = matrix.rows};
  if (!UsesFrame(plan.kind)) {
    const std::vector<double> a = OrthonormalRows(change.rank, change.in, random);
    change.a.assign(a.begin(), a.end());
  } else {
    const auto module = frame->modules.find(target);
    if (module == frame->modules.end() || module->second.rank < change.rank) {
      return Invalid(
          reasons::kInvalidArgument,
          "the frame has {} for {}, not rank {}; make a frame of this rank",
          module == frame->modules.end() ? "nothing" : fmt::format("rank {}", module->second.rank),
          SanitizeForDisplay(target), change.rank);
    }
    const auto floats = static_cast<std::ptrdiff_t>(change.rank) * change.in;
    change.a.assign(module->second.q.begin(), module->second.q.begin() + floats);
  }
  change.b.assign(static_cast<size_t>(change.rank) * static_cast<size_t>(change.out), 0.0F);
  return change;
}

absl::Status CheckPlan(const Model& model, const AdapterPlan& plan, const FrameSet* frame) {
  const RankRange ranks = RanksOf(plan.kind);
  if (plan.rank < ranks.least || plan.rank > ranks.most || plan.targets.empty()) {
    return Invalid(
        reasons::kInvalidArgument,
        "an adapter of kind {} must have a rank from {} to {} and at least one target, but "
        "has rank {} and {} targets; choose another kind or rank",
        KindName(plan.kind), ranks.least, ranks.most, plan.rank, plan.targets.size());
  }
  if (!UsesFrame(plan.kind)) {
    return absl::OkStatus();
  }
  if (frame == nullptr) {
    return Invalid(reasons::kInvalidArgument,
                   "an adapter of kind {} needs a frame; make one with `ruvd model frame`",
                   KindName(plan.kind));
  }
  if (frame->model_hash != model.hash()) {
    return Invalid(reasons::kAdapterForOtherModel,
                   "the frame belongs to another model; make one with `ruvd model frame`");
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view KindName(AdapterKind kind) {
  return kKindNames.at(static_cast<size_t>(kind));
}

std::optional<AdapterKind> KindByName(std::string_view name) {
  return ByName<AdapterKind>(kKindNames, name);
}

std::optional<Modules> ModulesByName(std::string_view name) {
  return ByName<Modules>(kModulesNames, name);
}

RankRange RanksOf(AdapterKind kind) {
  switch (kind) {
    case AdapterKind::kMicroLora:
      return {.least = 1, .most = 2};
    case AdapterKind::kBaseLora:
      return {.least = 4, .most = 16};
    case AdapterKind::kLora:
    case AdapterKind::kFfa:
    case AdapterKind::kCore:
      break;
  }
  return {.least = 1, .most = limits::kMaxAdapterRank};
}

absl::Status CheckKind(const Adapter& adapter) {
  const RankRange ranks = RanksOf(adapter.kind);
  for (const auto& [target, change] : adapter.targets) {
    // If a side of the matrix is shorter than the kind's least rank, that side is the least rank.
    const int least = std::min({ranks.least, change.in, change.out});
    if (change.rank < least || change.rank > ranks.most) {
      return Invalid(
          reasons::kAdapterInvalid,
          "adapter {} is of kind {}, which has rank {} to {}, but it has rank {} on {}; give "
          "another kind",
          AdapterLabel(adapter), KindName(adapter.kind), ranks.least, ranks.most, change.rank,
          SanitizeForDisplay(target));
    }
  }
  if (UsesFrame(adapter.kind) == (adapter.frame_id == Digest{})) {
    return Invalid(reasons::kAdapterInvalid, "adapter {} of kind {} {} a frame; train it again",
                   AdapterLabel(adapter), KindName(adapter.kind),
                   UsesFrame(adapter.kind) ? "does not name" : "must not name");
  }
  return absl::OkStatus();
}

std::vector<std::string> LinearTargets(const Model& model, Modules modules, int layers) {
  std::vector<std::string_view> parts = {"attn_q", "attn_v"};
  if (modules != Modules::kQv) {
    parts.insert(parts.end(), {"attn_k", "attn_output"});
  }
  if (modules == Modules::kAll) {
    parts.insert(parts.end(), {"ffn_gate", "ffn_up", "ffn_down"});
  }
  std::set<std::string> names;
  const int count = model.config().layers;
  for (int layer = layers > 0 ? std::max(0, count - layers) : 0; layer < count; ++layer) {
    for (const std::string_view part : parts) {
      names.insert(fmt::format("blk.{}.{}.weight", layer, part));
    }
  }
  return {names.begin(), names.end()};
}

absl::StatusOr<Adapter> StartAdapter(const Model& model, const AdapterPlan& plan,
                                     const FrameSet* frame, uint64_t seed) {
  RETURN_IF_ERROR(CheckPlan(model, plan, frame));
  Adapter adapter;
  adapter.model_hash = model.hash();
  adapter.kind = plan.kind;
  adapter.frame_id = UsesFrame(plan.kind) ? frame->id : Digest{};
  Random random(seed);
  for (const std::string& target : plan.targets) {
    const Matrix* matrix = FindMatrix(model, target);
    if (matrix == nullptr) {
      return Invalid(reasons::kInvalidArgument,
                     "{} is not a linear layer of {}; give a name like blk.0.attn_q.weight",
                     SanitizeForDisplay(target), model.config().name);
    }
    ASSIGN_OR_RETURN(LowRank change, StartChange(*matrix, plan, target, frame, random));
    adapter.targets.insert_or_assign(target, std::move(change));
  }
  return adapter;
}

absl::StatusOr<std::shared_ptr<const Adapter>> AdapterFromCores(const FrameSet& frame,
                                                                const CoreSet& cores,
                                                                std::string name, uint32_t version,
                                                                float scale) {
  if (cores.frame_id != frame.id || cores.model_hash != frame.model_hash) {
    return Invalid(reasons::kFrameMismatch,
                   "the cores belong to frame {}, but this is frame {}; use one frame in the whole "
                   "cluster",
                   ToHex(std::span(cores.frame_id).first(8)), ToHex(std::span(frame.id).first(8)));
  }
  auto adapter = std::make_shared<Adapter>();
  adapter->name = std::move(name);
  adapter->version = version;
  adapter->kind = AdapterKind::kCore;
  adapter->frame_id = frame.id;
  adapter->model_hash = frame.model_hash;
  for (const auto& [target, core] : cores.cores) {
    const auto module = frame.modules.find(target);
    if (module == frame.modules.end() || core.rank < 1 || core.rank > module->second.rank ||
        core.values.size() != static_cast<size_t>(core.rank) * static_cast<size_t>(core.rank) ||
        !IsFinite(core.values)) {
      return Invalid(
          reasons::kUpdateInvalid,
          "the core of {} must have a rank from 1 to {} and finite values; refuse the update",
          SanitizeForDisplay(target), module == frame.modules.end() ? 0 : module->second.rank);
    }
    const auto floats = static_cast<std::ptrdiff_t>(core.rank) * module->second.in;
    LowRank change{.rank = core.rank,
                   .in = module->second.in,
                   .out = module->second.out,
                   .a = {module->second.q.begin(), module->second.q.begin() + floats},
                   .b = Expand(module->second, core.values, static_cast<size_t>(core.rank)),
                   .scale = scale};
    adapter->targets.emplace(target, std::move(change));
  }
  return adapter;
}

absl::StatusOr<CoreSet> CoresOf(const Adapter& adapter, const FrameSet& frame) {
  if (adapter.kind != AdapterKind::kCore) {
    return Invalid(reasons::kAdapterInvalid, "adapter {} is of kind {}, not core; it has no cores",
                   AdapterLabel(adapter), KindName(adapter.kind));
  }
  if (adapter.frame_id != frame.id) {
    return Invalid(reasons::kFrameMismatch, "adapter {} does not belong to frame {}",
                   AdapterLabel(adapter), ToHex(std::span(frame.id).first(8)));
  }
  CoreSet cores{.frame_id = frame.id, .model_hash = frame.model_hash, .cores = {}};
  for (const auto& [target, change] : adapter.targets) {
    const auto module = frame.modules.find(target);
    if (module == frame.modules.end() || change.rank > module->second.rank ||
        change.in != module->second.in || change.out != module->second.out ||
        !std::equal(change.a.begin(), change.a.end(), module->second.q.begin())) {
      return Invalid(reasons::kAdapterInvalid,
                     "the A factor of {} is not the frame's; train the adapter again",
                     SanitizeForDisplay(target));
    }
    ASSIGN_OR_RETURN(std::vector<float> core, Project(module->second, change, target));
    cores.cores.emplace(target, CoreSet::Core{.rank = change.rank, .values = std::move(core)});
  }
  return cores;
}

}  // namespace ruvd::inference
