// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/instant.h"
#include "node/learning/learning_services.h"
#include "node/sharing/local_contributor.h"
#include "node/sharing/own_expert.h"
#include "node/sharing/own_patterns.h"
#include "ruvd/privacy/v1/privacy.pb.h"

// What would leave this node next. Nothing is charged, noised or offered for it.
namespace ruvd::sharing {

struct PreviewInput {
  privacy::ConsentTier tier = privacy::ConsentTier::kPrivate;
  absl::Status allowed;  // OK if this node may choose the tier and contribute
  const OwnPatterns* own = nullptr;
  const OwnExpert* expert = nullptr;  // null: no expert would leave
  federation::Instant now;
};

// Returns what would leave if the operator's tier were `tier`, except the contribution to the
// running round: patterns and the expert under `public`. Returns errors of the store.
absl::StatusOr<privacy::v1::PreviewReleaseResponse> PreviewPatterns(const PreviewInput& question);

// Adds the contribution to the round of `request` under its tier, or why there would be none. Under
// `public` it is the first payload: byte for byte if the plan is of deltas, else of another sample.
// Under `dp` it is the payload without its values:
// drawing noise to show them would be another release of the same lessons and would cost epsilon.
// Under `masked` it is the size of a share in bytes. Belongs on the learning thread.
void AddContribution(const LocalContributor& contributor,
                     const learning::LearningServices& services, const ContributionRequest& request,
                     privacy::v1::PreviewReleaseResponse* preview);

// Returns why a node whose model has no frame gives no contribution.
absl::Status NoFrameForRounds();

}  // namespace ruvd::sharing
