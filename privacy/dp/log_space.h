// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Arithmetic on logarithms of numbers that do not fit a double. All functions are pure.
namespace ruvd::privacy::dp {

// Returns ln(e^a + e^b). -infinity stands for the logarithm of zero.
double LogAdd(double a, double b);

// Returns ln(Phi(x)), where Phi is the standard normal distribution function, with a relative error
// of about 1e-15 everywhere. It uses erfc where that does not underflow, and elsewhere the
// asymptotic series of Mills' ratio (Abramowitz and Stegun 1964, 26.2.12).
double LogNormalCdf(double x);

// Returns Phi(b) - Phi(a) for a <= b, computed in the tail in which the difference keeps its
// digits.
double NormalMassBetween(double a, double b);

}  // namespace ruvd::privacy::dp
