// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/statusor.h"

namespace ruvd::privacy::dp {

// Zero-concentrated differential privacy (Bun and Steinke 2016, "Concentrated differential privacy:
// simplifications, extensions, and lower bounds"): the Renyi privacy is rho * order at every order.
// The rho of several releases adds up; the ledger stores that sum. All functions are pure.

// Returns rho of one release of the Gaussian or the discrete Gaussian mechanism at noise multiplier
// `sigma` > 0: 1 / (2 sigma^2) (Bun and Steinke 2016, proposition 1.6; for the discrete Gaussian in
// any number of dimensions: Canonne, Kamath and Steinke 2020, theorem 14).
double GaussianRho(double sigma);

// Returns epsilon at `delta`, by the conversion of EpsilonOfRdp at the best real order. Fails
// with INVALID_ARGUMENT unless rho is finite and at least 0 and 0 < delta < 1.
absl::StatusOr<double> EpsilonOfRho(double rho, double delta);

}  // namespace ruvd::privacy::dp
