// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/adapter/frame_set.h"
#include "inference/adapter/talora.h"
#include "inference/train/change.h"

namespace ruvd::inference::train {

// Adds a LoRA of this rank at every site: A from the seed, orthonormal rows, each site from a
// stream of its own; B from zero. With `fixed_a` only B is trained (FFA). INVALID_ARGUMENT for a
// rank that does not fit a matrix, a site that is not there or has such a change already, or a
// placement out of its ranges; then nothing was added at that site or those after it.
absl::Status AddLoras(const Model& model, std::span<const Site> sites, int rank, bool fixed_a,
                      uint64_t seed, ChangeSet<float>* changes,
                      const ChangePlacement& placement = {});

// Adds an R-core in the frame's leading `rank` rows and columns at every site: R from zero. Where a
// frame's module is of lower rank, that is the rank there. Errors as for AddLoras, also for a site
// that the frame lacks; FRAME_MISMATCH for a frame of another model.
absl::Status AddCores(const Model& model, const FrameSet& frame, std::span<const Site> sites,
                      int rank, ChangeSet<float>* changes, const ChangePlacement& placement = {});

// A trunk that acts at all t with a residual for each bank, trained jointly.
struct TaloraPlan {
  int trunk_rank = 8;               // 0: none, banks alone
  std::vector<int> residual_ranks;  // by bank of the change set's schedule, 0: none; empty: static
  TaloraTraining training;          // of the residuals
};
// As LoRAs, or with a frame as R-cores, whose trunk and residuals share the frame's factors.
// INVALID_ARGUMENT also for residual ranks that are not one for each bank, and for neither trunk
// nor residuals.
absl::Status AddTalora(const Model& model, std::span<const Site> sites, const TaloraPlan& plan,
                       const FrameSet* frame, uint64_t seed, ChangeSet<float>* changes);

// What an adapter is called, and of what kind it says it is.
struct AdapterLabels {
  std::string name;
  uint32_t version = 1;
  AdapterKind kind = AdapterKind::kLora;
  Digest frame_id{};  // of kFfa and kCore whose fixed factors are of that frame
};

// What the changes are now, as an adapter of the model. No change belongs to a bank.
std::shared_ptr<const Adapter> AdapterOf(const Model& model, const ChangeSet<float>& changes,
                                         const AdapterLabels& labels);
std::shared_ptr<const Adapter> AdapterOf(const Model& model, const ChangeSet<float>& changes,
                                         std::string name, uint32_t version);

// The same with banks: changes for all t are the trunk, the others the residuals of their banks; a
// bank without changes gets one that is zero, since a TALoRA has a residual for each. With the
// change set's schedule. `training` is recorded.
std::shared_ptr<const Talora> TaloraOf(const Model& model, const ChangeSet<float>& changes,
                                       const AdapterLabels& labels, const TaloraTraining& training);

// Lets the LoRAs for all t begin where an adapter is. INVALID_ARGUMENT where the adapter has other
// targets or ranks, or a change is no LoRA; then nothing has changed.
absl::Status BeginFrom(const Adapter& adapter, ChangeSet<float>* changes);
// The same with banks: the LoRAs for all t begin where its trunk is, those of a bank where the
// bank's residual is; of an adapter without residuals they stay where they are. INVALID_ARGUMENT
// also for one without a trunk and for other banks.
absl::Status BeginFrom(const Talora& adapter, ChangeSet<float>* changes);

}  // namespace ruvd::inference::train
