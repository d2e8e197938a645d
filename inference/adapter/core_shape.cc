// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/core_shape.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/limits.h"

namespace ruvd::inference {
namespace {

template <typename... Args>
absl::Status Invalid(const char* reason, fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reason, "{}",
               fmt::format(what, std::forward<Args>(args)...));
}

absl::Status CheckBoundaries(const CoreShape& shape) {
  return CheckSchedule(shape.schedule()).ok()
             ? absl::OkStatus()
             : Invalid(reasons::kInvalidArgument,
                       "{} boundaries of timestep banks; give at most {} that ascend within 0 to 1",
                       shape.boundaries.size(), limits::kMaxTimestepBanks - 1);
}

absl::Status CheckModules(const CoreShape& shape, const FrameSet& frame) {
  const std::string* last = nullptr;
  for (const CoreShape::Module& module : shape.modules) {
    if (last != nullptr && module.target <= *last) {
      return Invalid(reasons::kInvalidArgument,
                     "the core of {} stands behind that of {}; sort the cores by their targets",
                     SanitizeForDisplay(module.target), SanitizeForDisplay(*last));
    }
    last = &module.target;
    const auto found = frame.modules.find(module.target);
    const int largest = found == frame.modules.end() ? 0 : found->second.rank;
    if (module.rank < 1 || module.rank > largest) {
      return Invalid(reasons::kFrameMismatch,
                     "the core of {} has rank {}, but the frame has rank {} there; use the frame "
                     "that the cores were made for",
                     SanitizeForDisplay(module.target), module.rank, largest);
    }
  }
  return absl::OkStatus();
}

// Returns the cores of one bank by their targets.
CoreSet CoresOfBank(const CoreShape& shape, std::span<const float> values) {
  CoreSet cores{.frame_id = shape.frame_id, .model_hash = shape.model_hash, .cores = {}};
  for (const CoreShape::Module& module : shape.modules) {
    const std::span<const float> own = values.first(module.values());
    cores.cores.emplace(module.target,
                        CoreSet::Core{.rank = module.rank, .values = {own.begin(), own.end()}});
    values = values.subspan(module.values());
  }
  return cores;
}

}  // namespace

size_t CoreShape::values_per_bank() const {
  size_t values = 0;
  for (const Module& module : modules) {
    values += module.values();
  }
  return values;
}

absl::StatusOr<CoreShape> CoreShapeOf(const FrameSet& frame, int rank,
                                      std::vector<float> boundaries) {
  if (rank < 1 || rank > limits::kMaxAdapterRank) {
    return Invalid(reasons::kInvalidArgument, "the rank of cores must be 1 to {}, not {}",
                   limits::kMaxAdapterRank, rank);
  }
  CoreShape shape{.frame_id = frame.id,
                  .model_hash = frame.model_hash,
                  .boundaries = std::move(boundaries),
                  .modules = {},
                  .fisher = {}};
  for (const auto& [target, module] : frame.modules) {
    shape.modules.push_back({.target = target, .rank = std::min(rank, module.rank)});
  }
  RETURN_IF_ERROR(CheckCoreShape(shape, frame));
  shape.fisher = FisherOf(shape, frame);
  return shape;
}

std::vector<float> FisherOf(const CoreShape& shape, const FrameSet& frame) {
  std::vector<float> fisher;
  for (size_t bank = 0; bank < shape.banks() && frame.has_fisher(); ++bank) {
    const float begin = bank == 0 ? 0.0F : shape.boundaries[bank - 1];
    const float end = bank + 1 == shape.banks() ? 1.0F : shape.boundaries[bank];
    for (const CoreShape::Module& module : shape.modules) {
      const ModuleFrame& own = frame.modules.at(module.target);
      const auto stride = static_cast<size_t>(own.rank);
      const auto rank = static_cast<size_t>(module.rank);
      for (size_t i = 0; i < module.values(); ++i) {
        fisher.push_back((end - begin) * own.fisher[i / rank * stride + i % rank]);
      }
    }
  }
  return fisher;
}

absl::Status CheckCoreShape(const CoreShape& shape, const FrameSet& frame) {
  if (shape.frame_id != frame.id || shape.model_hash != frame.model_hash) {
    return Invalid(reasons::kFrameMismatch,
                   "the cores belong to frame {}, but this is frame {}; use one frame in the whole "
                   "cluster",
                   ToHex(std::span(shape.frame_id).first(8)), ToHex(std::span(frame.id).first(8)));
  }
  if (shape.modules.empty()) {
    return Invalid(reasons::kInvalidArgument,
                   "there are no cores; name a linear layer that the frame has");
  }
  RETURN_IF_ERROR(CheckBoundaries(shape));
  return CheckModules(shape, frame);
}

absl::StatusOr<std::shared_ptr<const Talora>> TaloraOfCores(
    const FrameSet& frame, const CoreShape& shape, std::span<const std::vector<float>> banks,
    std::string name, uint32_t version) {
  RETURN_IF_ERROR(CheckCoreShape(shape, frame));
  const size_t expected = shape.values_per_bank();
  const auto fits = [&](const std::vector<float>& bank) { return bank.size() == expected; };
  if (banks.size() != shape.banks() || !std::ranges::all_of(banks, fits)) {
    return Invalid(reasons::kUpdateInvalid,
                   "cores in {} banks must have {} values in each; refuse the update",
                   shape.banks(), expected);
  }
  std::vector<std::shared_ptr<const Adapter>> parts;
  for (const std::vector<float>& bank : banks) {
    ASSIGN_OR_RETURN(std::shared_ptr<const Adapter> part,
                     AdapterFromCores(frame, CoresOfBank(shape, bank), name, version, 1.0F));
    parts.push_back(std::move(part));
  }
  if (parts.size() == 1) {
    return StaticTalora(std::move(parts.front()));
  }
  auto talora = std::make_shared<Talora>();
  talora->name = std::move(name);
  talora->version = version;
  talora->model_hash = shape.model_hash;
  talora->schedule = shape.schedule();
  talora->residuals = std::move(parts);
  talora->training = {.residual_rate = 1.0F};  // without a trunk, every bank has the full rate
  return talora;
}

}  // namespace ruvd::inference
