// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "node/learning/learning_services.h"
#include "node/learning/paired_losses.h"
#include "node/serving/adapter_catalog.h"
#include "node/sharing/judging_texts.h"

namespace ruvd::sharing {

// Measures what an adapter changes on texts when it acts on top of `beneath`, each text under the
// same masks with and without it. With fewer than five texts the standard error is that of the
// maskings, so that even one text can refuse an adapter. Gives way to serving between two forward
// passes. Returns CANCELLED and the errors of the forward pass.
absl::StatusOr<learning::PairedGain> GainOfPart(const learning::LearningServices& services,
                                                const std::vector<serving::RangedPart>& beneath,
                                                const serving::RangedPart& part,
                                                std::span<const JudgingText> texts);

// Returns whether a gain is a loss of more than so many standard errors, or not a number.
bool Harms(const learning::PairedGain& gain, double standard_errors);

}  // namespace ruvd::sharing
