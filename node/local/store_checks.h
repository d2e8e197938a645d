// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "storage/db/store_check.h"

namespace ruvd::cli {

// What `ruvd store verify` asks the stores on top of the database about their own rows, after the
// walk over all seals: one entry per store that can say something. A store adds its check here.
// `facts` gets lines about what was counted; it outlives the checks.
std::vector<storage::StoreCheck> StoreChecks(std::vector<std::string>* facts);

}  // namespace ruvd::cli
