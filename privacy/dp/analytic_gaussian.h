// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/statusor.h"

namespace ruvd::privacy::dp {

// The exact relation of epsilon, delta and sigma for one release of the Gaussian mechanism with
// sensitivity 1 (Balle and Wang 2018, "Improving the Gaussian mechanism for differential privacy:
// analytical calibration and optimal denoising", theorem 8). These pure functions fail with
// INVALID_ARGUMENT for an epsilon below 0, a delta outside (0, 1), or a sigma outside
// kMinNoiseMultiplier to kMaxNoiseMultiplier. For the discrete Gaussian the relation is only
// approximate: account it with zcdp.h.

// Returns delta: Phi(1/(2 sigma) - epsilon sigma) - e^epsilon Phi(-1/(2 sigma) - epsilon sigma).
absl::StatusOr<double> GaussianDelta(double sigma, double epsilon);

// Returns the smallest epsilon for `delta`, with a relative error of at most 1e-12 that never makes
// it too small. Returns 0 if delta is large.
absl::StatusOr<double> GaussianEpsilon(double sigma, double delta);

// Returns the smallest sigma for `epsilon` and `delta`, with a relative error of at most 1e-12 that
// never makes it too small. Fails with INVALID_ARGUMENT also if no allowed sigma is large enough.
absl::StatusOr<double> GaussianSigma(double epsilon, double delta);

}  // namespace ruvd::privacy::dp
