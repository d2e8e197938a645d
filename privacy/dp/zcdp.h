// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace ruvd::privacy::dp {

// Zero-concentrated differential privacy (Bun and Steinke 2016, "Concentrated differential
// privacy: simplifications, extensions, and lower bounds"): Renyi privacy of rho * order at every
// order. It adds up over releases, which is what the ledger does. Pure functions.

// One release of the Gaussian or the discrete Gaussian mechanism at noise multiplier `sigma`:
// 1 / (2 sigma^2) (there, proposition 1.6; discrete, in any number of dimensions: Canonne, Kamath
// and Steinke 2020, theorem 14). `sigma` > 0.
double GaussianRho(double sigma);

// Epsilon at `delta`: the conversion of EpsilonOfRdp at its best real order. INVALID_ARGUMENT
// unless rho is a number of 0 or more and 0 < delta < 1; below as well.
absl::StatusOr<double> EpsilonOfRho(double rho, double delta);

// rho + 2 sqrt(rho ln(1/delta)) (Bun and Steinke, proposition 1.3), which is looser: for
// comparison with figures of others.
absl::StatusOr<double> SimpleEpsilonOfRho(double rho, double delta);

// Largest rho, to 1e-9 relative and never above, that stays within (epsilon, delta).
// INVALID_ARGUMENT unless epsilon is a number of 0 or more.
absl::StatusOr<double> RhoWithin(double epsilon, double delta);

// rho in units of 2^-32, rounded up: what the ledger stores and adds. LIMIT_EXCEEDED where 64 bits
// do not hold it.
absl::StatusOr<uint64_t> FixedPointRho(double rho);

}  // namespace ruvd::privacy::dp
