// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "inference/constrain/grammar.h"

namespace ruvd::inference {

// Returns the grammar of exactly these texts. INVALID_ARGUMENT if the list is empty, if a text is
// empty or not UTF-8, or if there are more than limits::kMaxChoices or limits::kMaxConstraintBytes
// in all.
absl::StatusOr<std::shared_ptr<const Grammar>> GrammarOfChoices(std::span<const std::string> texts);

}  // namespace ruvd::inference
