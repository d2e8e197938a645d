// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/statusor.h"

namespace ruvd::privacy::dp {

// The exact trade of one release of the Gaussian mechanism with sensitivity 1 (Balle and Wang 2018,
// "Improving the Gaussian mechanism for differential privacy: analytical calibration and optimal
// denoising", theorem 8). Pure functions. INVALID_ARGUMENT for an epsilon below 0, a delta outside
// 0 to 1, or a sigma outside kMinNoiseMultiplier to kMaxNoiseMultiplier. For the discrete Gaussian
// it is only close: account that with zcdp.h.

// Phi(1/(2 sigma) - epsilon sigma) - e^epsilon Phi(-1/(2 sigma) - epsilon sigma).
absl::StatusOr<double> GaussianDelta(double sigma, double epsilon);

// Its inverse in epsilon, to 1e-12 relative and never below; 0 where delta is large.
absl::StatusOr<double> GaussianEpsilon(double sigma, double delta);

// Its inverse in sigma, to 1e-12 relative and never below. INVALID_ARGUMENT also where no allowed
// sigma reaches it.
absl::StatusOr<double> GaussianSigma(double epsilon, double delta);

}  // namespace ruvd::privacy::dp
