// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "storage/db/store_check.h"

namespace ruvd::cli {

// Returns the checks that `ruvd store verify` runs on the rows of each store after it has opened
// all seals. A store adds its check here. The checks append lines about what they counted to
// `facts`, which must outlive them.
std::vector<storage::StoreCheck> StoreChecks(std::vector<std::string>* facts);

}  // namespace ruvd::cli
