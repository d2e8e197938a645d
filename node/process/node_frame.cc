// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/node_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/bank.h"
#include "inference/model/model.h"
#include "inference/train/network.h"
#include "node/learning/pattern_training.h"
#include "node/log/log.h"
#include "node/process/limits.h"

namespace ruvd::node {
namespace {

using inference::FrameSet;

// Returns what a log line calls a frame.
std::string Described(const FrameSet& frame) {
  int rank = 0;
  for (const auto& [target, module] : frame.modules) {
    rank = std::max(rank, module.rank);
  }
  return fmt::format("adapter frame {} (kind {}, rank {})", ToHex(std::span(frame.id).first(8)),
                     inference::FrameKindName(frame.kind), rank);
}

absl::StatusOr<FrameSet> LoadSaved(const std::string& saved, const inference::Model& model) {
  ASSIGN_OR_RETURN(FrameSet frame, inference::LoadFrameSet(saved));
  RETURN_IF_ERROR(inference::CheckFrameSet(frame, model));
  return frame;
}

absl::Status CheckSize(const inference::Model& model, std::span<const std::string> targets,
                       const std::string& model_path) {
  uint64_t weights = 0;
  for (const std::string& target : targets) {
    if (const inference::Matrix* matrix = inference::FindMatrix(model, target)) {
      weights += static_cast<uint64_t>(matrix->rows) * static_cast<uint64_t>(matrix->columns);
    }
  }
  if (weights > limits::kMaxFrameWeights) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kLimitExceeded,
                 "the linear layers of {} have {} weights, and a node computes no frame for more "
                 "than {} when it starts; make one with `ruvd model frame --model {} --out {} "
                 "--text TEXT` and give it to every node",
                 model_path, weights, limits::kMaxFrameWeights, model_path,
                 inference::FramePath(model_path));
  }
  return absl::OkStatus();
}

absl::StatusOr<FrameSet> ComputeAndSave(const inference::Model& model,
                                        const std::string& model_path, const std::string& saved,
                                        ParallelRunner& runner) {
  const std::vector<std::string> targets =
      inference::LinearTargets(model, inference::Modules::kAll);
  RETURN_IF_ERROR(CheckSize(model, targets, model_path));
  ASSIGN_OR_RETURN(FrameSet frame,
                   inference::WeightFrameSet(model, targets, limits::kWeightFrameRank, runner));
  if (const absl::Status written = inference::SaveFrameSet(frame, saved); !written.ok()) {
    LogWarning("the next start computes the adapter frame again: {} [{}]", MessageOf(written),
               ReasonOf(written));
  }
  return frame;
}

// Returns the frame of the file if it is of use. A file that is not is worth a line, because the
// node then replaces it.
std::optional<FrameSet> SavedFrame(const std::string& saved, const inference::Model& model) {
  std::error_code ignored;  // loading reports a file that cannot be accessed
  if (std::filesystem::symlink_status(saved, ignored).type() ==
      std::filesystem::file_type::not_found) {
    return std::nullopt;
  }
  absl::StatusOr<FrameSet> frame = LoadSaved(saved, model);
  if (!frame.ok()) {
    LogWarning("{} is not used, and a node of a cluster computes the frame again: {} [{}]", saved,
               MessageOf(frame.status()), ReasonOf(frame.status()));
    return std::nullopt;
  }
  return *std::move(frame);
}

}  // namespace

std::string FrameFileOf(const config::NodeConfig& config) {
  return (std::filesystem::path(config.node.data_dir) / "frame.gguf").string();
}

absl::StatusOr<std::shared_ptr<const FrameSet>> OpenNodeFrame(
    const inference::ModelPackage& package, const std::string& model_path, const std::string& saved,
    bool may_compute, ParallelRunner& runner) {
  if (package.frame != nullptr) {
    LogInfo("{} was shipped with the model", Described(*package.frame));
    return package.frame;
  }
  std::optional<FrameSet> frame = SavedFrame(saved, *package.model);
  if (!frame && !may_compute) {
    return nullptr;
  }
  if (!frame) {
    ASSIGN_OR_RETURN(frame, ComputeAndSave(*package.model, model_path, saved, runner));
  }
  LogInfo(
      "{} is that of {}, because none was shipped with the model; one of public text is better "
      "(`ruvd model frame --model {} --out {} --text TEXT`), and all nodes of a cluster need the "
      "same",
      Described(*frame), saved, model_path, inference::FramePath(model_path));
  return std::make_shared<const FrameSet>(*std::move(frame));
}

federation::UpdateRules PatternCoreRules(const FrameSet& frame,
                                         const inference::ModelConfig& config) {
  federation::UpdateRules rules;
  for (const inference::train::Site& site :
       learning::PatternSitesIn(frame, config, learning::PatternTrainingOptions().layers)) {
    const std::string target = TensorOf(site);
    rules.rank_of_target[target] =
        static_cast<uint32_t>(std::min(limits::kPatternCoreRank, frame.modules.at(target).rank));
  }
  rules.banks = inference::kTimestepBanks;
  return rules;
}

}  // namespace ruvd::node
