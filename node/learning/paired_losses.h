// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

namespace ruvd::learning {

// How much a loss falls over documents that were scored twice under equal masks. Each document
// counts the same.
struct PairedGain {
  double mean = 0;            // of before - after, in the unit of the losses; 0 without documents
  double standard_error = 0;  // of the mean; 0 for fewer than two documents
};

// Returns the gain from `before` to `after`, which hold a loss for each document, in one order.
PairedGain GainOf(std::span<const double> before, std::span<const double> after);

// Returns the mean of the losses; 0 without losses.
double MeanLoss(std::span<const double> losses);

}  // namespace ruvd::learning
