// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

namespace ruvd::federation {

// The values of an adapter by bank of the masked share t; each bank has the values of all modules
// in the order of the plan.
using BankedValues = std::vector<std::vector<float>>;

}  // namespace ruvd::federation
