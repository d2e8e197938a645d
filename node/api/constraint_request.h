// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "inference/constrain/grammar.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::api {

// Returns what a completion is held to; null if the request does not say. Returns INVALID_ARGUMENT
// for what is not supported, not satisfiable or too large, with its place.
absl::StatusOr<std::shared_ptr<const inference::Grammar>> ReadConstraint(
    const inference::v1::GenerateRequest& request);

}  // namespace ruvd::api
