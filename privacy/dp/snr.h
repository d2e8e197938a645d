// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace ruvd::privacy::dp {

// Whether each contribution carries its own noise, or only their sum carries noise, as in a masked
// clique or a batch of examples inside one node.
enum class NoiseLocation : uint8_t { kEach, kSum };

// The quantities that decide how much of a release is signal. All of them are known before any data
// is read.
struct SnrParameters {
  NoiseLocation place = NoiseLocation::kEach;
  double noise_multiplier = 1;  // noise of one release over the clip norm
  size_t dimension = 1;         // values of all banks together
  double contributors = 1;      // nodes, or expected examples of a batch
  double releases = 1;          // releases that are averaged: rounds, or steps times nodes
  // Norm of the mean clipped contribution over the clip norm, 0 to 1. For single sequences 0.08 to
  // 0.1 was measured.
  double signal = 1;
};

// Returns the predicted ratio of the norms of signal and noise in the mean of n contributions of d
// values, with clip norm C and noise multiplier sigma. The signal is `signal` C. The noise is sigma
// C sqrt(d / n) if each contribution carries its own and sigma C sqrt(d) / n if only the sum does.
// The ratio is multiplied by sqrt(releases). Fails with INVALID_ARGUMENT for values out of range.
absl::StatusOr<double> PredictSnr(const SnrParameters& question);

}  // namespace ruvd::privacy::dp
