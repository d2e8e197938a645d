// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/instant.h"
#include "node/sharing/dp_release.h"
#include "node/sharing/federation.h"
#include "node/sharing/own_patterns.h"

namespace ruvd::sharing {

struct PreviewQuestion {
  privacy::ConsentTier tier = privacy::ConsentTier::kPrivate;
  absl::Status allowed;  // whether this node may choose the tier and contribute
  const OwnPatterns* own = nullptr;
  const DpRelease* release = nullptr;
  const DpCentroids* centroids = nullptr;  // null: none would leave
  federation::Instant now;
};

// What would leave next if the operator's tier were `tier`. Spends, noises and offers nothing.
// Under `dp` it cannot show the values: noise that was drawn to be shown would be a second look at
// the same update, and would have to be paid for. Under `masked` it shows how many bytes a share
// has. Errors of the store.
absl::StatusOr<ReleasePreview> PreviewNext(const PreviewQuestion& question);

}  // namespace ruvd::sharing
