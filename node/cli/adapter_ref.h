// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "ruvd/adapter/v1/adapter.pb.h"

namespace ruvd::cli {

// Reads NAME or NAME@VERSION into `ref`. USAGE if the name is missing or the version is not a whole
// number.
absl::Status ReadAdapterRef(std::string_view text, adapter::v1::AdapterRef* ref);

}  // namespace ruvd::cli
