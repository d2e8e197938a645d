// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/statusor.h"
#include "node/api/caller.h"
#include "node/serving/inference.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::api {

// Reads a Generate request of a caller into a job, without deadline and listener. The caller's
// session and user get the ids of OwnId. INVALID_ARGUMENT if options
// are out of range, if more than one of prompt, parts and messages is given, or if a conversation
// does not end with a message of the user. The inference actor checks what depends on the model.
absl::StatusOr<serving::GenerationJob> ReadGenerate(const inference::v1::GenerateRequest& request,
                                                    const Caller& caller);

}  // namespace ruvd::api
