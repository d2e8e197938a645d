// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "node/terminal/verb.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::cli {

// Returns the mode named "auto", "diffusion", "block" or "ar". Any other name gives auto, which is
// the model's best mode.
inference::v1::DecodingMode DecodingModeByName(std::string_view name);

// Adds the flag --mode, which takes these names.
void AddDecodingModeFlag(Verb verb, std::string& mode);

}  // namespace ruvd::cli
