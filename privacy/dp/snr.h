// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::privacy::dp {

// Whether each contribution carries its own noise, or their sum carries noise once: a masked clique
// does, and a batch of examples inside one node.
enum class NoisePlace : uint8_t { kEach, kSum };

// What decides how much of a release is signal. All of it is known before any data is touched.
struct SnrQuestion {
  NoisePlace place = NoisePlace::kEach;
  double noise_multiplier = 1;  // of one release, over the clip norm
  size_t dimension = 1;         // values of all banks together
  double contributors = 1;      // nodes, or expected examples of a batch
  double releases = 1;          // that are averaged: rounds, or steps times nodes
  // Norm of the mean clipped contribution over the clip norm, 0 to 1. 1 is the most there can be;
  // single sequences measured 0.08 to 0.1.
  double signal = 1;
};

// Predicted ratio of the norms of signal and noise in the mean of n contributions: the signal is
// `signal` C, the noise sigma C sqrt(d / n) where each carries its own, sigma C sqrt(d) / n where
// the sum does; times sqrt(releases). INVALID_ARGUMENT for what is out of range.
absl::StatusOr<double> PredictSnr(const SnrQuestion& question);

// What alone, all else as asked, would bring the prediction to kMinReleaseSnr.
struct SnrNeeds {
  double noise_multiplier = 0;  // at most
  double contributors = 0;      // at least
  size_t dimension = 0;         // at most; 0: no number of values is small enough
};
// Errors of PredictSnr; INVALID_ARGUMENT for no signal at all.
absl::StatusOr<SnrNeeds> NeedsOfSnr(const SnrQuestion& question);

// SIGNAL_TOO_WEAK, with the figure and the ways out, where the prediction is below kMinReleaseSnr:
// such a release spends budget and makes every model that takes it worse.
absl::Status RequireSnr(const SnrQuestion& question);

}  // namespace ruvd::privacy::dp
