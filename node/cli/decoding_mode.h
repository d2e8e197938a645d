// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "node/terminal/command.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::cli {

// "auto", "diffusion", "block" or "ar"; auto (the model's best) for anything else.
inference::v1::DecodingMode DecodingModeByName(std::string_view name);

// Adds --mode with those names.
void AddDecodingModeFlag(CLI::App& verb, std::string& mode);

}  // namespace ruvd::cli
