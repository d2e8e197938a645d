// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"

namespace ruvd::cli {

// Losses of held-out notes in nats per token: [node][site][note]. The notes of a node's own site
// are left out, so that place is empty.
using NoteLosses = std::vector<std::vector<std::vector<double>>>;

// By how much the loss of the other nodes' notes fell, in nats per token.
struct GainOnOthers {
  double before = 0;  // mean loss
  double after = 0;
  double gain = 0;            // before - after
  double standard_error = 0;  // of the gain, over the notes
  size_t notes = 0;
};

// Compares both measurements note by note, each as the mean over the nodes that did not have its
// site. Fails with FAILED_PRECONDITION, naming the figures, unless the loss fell by more than twice
// its standard error; INVALID_ARGUMENT if the measurements are not of the same notes or have fewer
// than two.
absl::StatusOr<GainOnOthers> RequireGain(const NoteLosses& before, const NoteLosses& after);

}  // namespace ruvd::cli
