// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "ruvd/inference/v1/inference.pb.h"

// Reads the notations for gaps and messages in texts of the command line.
namespace ruvd::cli {

// Adds a text such as "The [[2]] of France is [[3]]." to the infilling of `request`: texts, and
// gaps with their numbers of tokens. USAGE if a "[[" does not begin a gap.
absl::Status ReadGaps(std::string_view text, inference::v1::GenerateRequest* request);

// Adds a text such as "assistant=Hello" to the chat of `request`: the role is before the first "=",
// the content after it. USAGE if the role is not system, user or assistant.
absl::Status ReadMessage(std::string_view text, inference::v1::GenerateRequest* request);

}  // namespace ruvd::cli
