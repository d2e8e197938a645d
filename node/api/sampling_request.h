// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "inference/engine/sampling_options.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::api {

// Checks the range of each option; the error names the option and its range. Unset options get the
// defaults of serving. The engine checks whether options fit together.
absl::StatusOr<inference::SamplingOptions> ReadSampling(
    const inference::v1::SamplingOptions& message);
absl::StatusOr<std::optional<inference::DecodingMode>> ReadMode(inference::v1::DecodingMode mode);
inference::v1::DecodingMode WireMode(inference::DecodingMode mode);

}  // namespace ruvd::api
