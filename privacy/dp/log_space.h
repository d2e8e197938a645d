// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Arithmetic on logarithms of numbers that do not fit a double. Pure functions.
namespace ruvd::privacy::dp {

// ln(e^a + e^b). -infinity stands for zero.
double LogAdd(double a, double b);

// ln(Phi(x)), Phi the standard normal distribution function, to about 1e-15 relative everywhere:
// erfc where it does not underflow, below that the asymptotic series of Mills' ratio (Abramowitz
// and Stegun 1964, 26.2.12).
double LogNormalCdf(double x);

// Phi(b) - Phi(a) for a <= b, from the tail in which the difference keeps its digits.
double NormalMassBetween(double a, double b);

}  // namespace ruvd::privacy::dp
