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

// Adds a LoRA of this rank at every site: A is drawn from the seed with orthonormal rows (each site
// has its own random stream), B is zero. With `fixed_a` only B is trained (FFA). INVALID_ARGUMENT
// for a rank that does not fit a matrix, a site that does not exist or already has such a change,
// or a placement out of range; then nothing was added at that site or at later ones.
absl::Status AddLoras(const Model& model, std::span<const Site> sites, int rank, bool fixed_a,
                      uint64_t seed, ChangeSet<float>* changes,
                      const ChangePlacement& placement = {});

// Adds an R-core in the frame's leading `rank` rows and columns at every site, with R zero. If the
// frame's module has a lower rank, that rank is used there. Errors as for AddLoras, also for a site
// that the frame lacks; FRAME_MISMATCH for a frame of another model.
absl::Status AddCores(const Model& model, const FrameSet& frame, std::span<const Site> sites,
                      int rank, ChangeSet<float>* changes, const ChangePlacement& placement = {});

// A trunk that acts at all t, with a residual for each bank; they are trained jointly.
struct TaloraPlan {
  int trunk_rank = 8;  // 0: no trunk, only banks
  // by bank of the change set's schedule, 0: no residual; empty: static adapter
  std::vector<int> residual_ranks;
  TaloraTraining training;  // applies to the residuals
};
// Adds the changes of a plan as LoRAs, or with a frame as R-cores, whose trunk and residuals share
// the frame's factors. INVALID_ARGUMENT also if the number of residual ranks is not the number of
// banks, and if there is neither trunk nor residual.
absl::Status AddTalora(const Model& model, std::span<const Site> sites, const TaloraPlan& plan,
                       const FrameSet* frame, uint64_t seed, ChangeSet<float>* changes);

// Name, version and declared kind of an adapter.
struct AdapterLabels {
  std::string name;
  uint32_t version = 1;
  AdapterKind kind = AdapterKind::kLora;
  Digest frame_id{};  // for kFfa and kCore: the frame that holds the fixed factors
};

// Returns the current state of the changes as an adapter of the model. No change may belong to a
// bank.
std::shared_ptr<const Adapter> AdapterOf(const Model& model, const ChangeSet<float>& changes,
                                         const AdapterLabels& labels);
std::shared_ptr<const Adapter> AdapterOf(const Model& model, const ChangeSet<float>& changes,
                                         std::string name, uint32_t version);

// Returns the current state of changes with banks: changes for all t become the trunk, the others
// the residuals of their banks. A TALoRA has a residual for each bank, so a bank without changes
// gets a zero one. The bank schedule is that of the change set, and `training` is recorded.
std::shared_ptr<const Talora> TaloraOf(const Model& model, const ChangeSet<float>& changes,
                                       const AdapterLabels& labels, const TaloraTraining& training);

// Starts the LoRAs for all t from the values of an adapter. INVALID_ARGUMENT if the adapter has
// other targets or ranks, or if a change is not a LoRA; then nothing is changed.
absl::Status InitialiseFrom(const Adapter& adapter, ChangeSet<float>* changes);
// Starts the LoRAs for all t from the adapter's trunk, and those of a bank from the bank's
// residual; if the adapter has no residuals, the LoRAs of banks stay unchanged. The errors are as
// above; INVALID_ARGUMENT also for an adapter without a trunk or with other banks.
absl::Status InitialiseFrom(const Talora& adapter, ChangeSet<float>* changes);

}  // namespace ruvd::inference::train
