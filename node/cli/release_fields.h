// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::cli {

// Returns names and values for FormatFields: what noised contributions have cost; empty if none may
// leave and none left.
std::vector<std::pair<std::string, std::string>> ReleaseFields(
    const privacy::v1::ReleaseStatus& release);

}  // namespace ruvd::cli
