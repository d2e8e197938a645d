// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/statusor.h"
#include "node/serving/inference.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::api {

// What a Generate call asks for, without deadline and listener. INVALID_ARGUMENT for options out of
// range, for more than one of prompt, parts and messages, and for a conversation that does not wait
// for an answer; what depends on the model is the inference actor's to check.
absl::StatusOr<serving::GenerationJob> ReadGenerate(const inference::v1::GenerateRequest& request);

}  // namespace ruvd::api
