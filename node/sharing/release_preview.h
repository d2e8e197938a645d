// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/instant.h"
#include "node/sharing/dp_centroids.h"
#include "node/sharing/dp_release.h"
#include "node/sharing/own_patterns.h"
#include "ruvd/admin/v1/admin.pb.h"

namespace ruvd::sharing {

struct PreviewInput {
  privacy::ConsentTier tier = privacy::ConsentTier::kPrivate;
  absl::Status allowed;  // OK if this node may choose the tier and contribute
  const OwnPatterns* own = nullptr;
  const DpRelease* release = nullptr;
  const DpCentroids* centroids = nullptr;  // null: centroids do not leave
  federation::Instant now;
};

// Returns what would leave next if the operator's tier were `tier`. It charges, noises and offers
// nothing. Under `dp` it cannot show the values: drawing noise to show it would be another release
// of the same update and would cost epsilon. Under `masked` it shows the size of a share in bytes.
// Returns errors of the store.
absl::StatusOr<admin::v1::PreviewReleaseResponse> PreviewNextRelease(const PreviewInput& question);

}  // namespace ruvd::sharing
