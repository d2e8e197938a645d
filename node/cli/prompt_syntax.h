// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "ruvd/inference/v1/inference.pb.h"

// How texts of the command line say more than themselves.
namespace ruvd::cli {

// Adds "The [[2]] of France is [[3]]." as parts: text and gaps of so many tokens. USAGE for a "[["
// that begins no gap.
absl::Status ReadGaps(std::string_view text, inference::v1::GenerateRequest* request);

// Adds "assistant=Hello" as a message: the role before the first "=", the content behind it. USAGE
// for another role than system, user and assistant.
absl::Status ReadMessage(std::string_view text, inference::v1::GenerateRequest* request);

}  // namespace ruvd::cli
