// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"

namespace ruvd::inference {

// The most options that an anyOf or oneOf may have. The options of a oneOf are compared with each
// other, and an automaton follows all options at a time.
inline constexpr size_t kMaxOptions = 128;

// Checks that no value fits two of the options of a oneOf at `pointer` in the schema `root`, so
// that it means what anyOf means. Two options are known to differ if they have no type in common,
// if `const` or `enum` gives them values that differ, or if both are objects and require a member
// for which one of these holds. INVALID_ARGUMENT names two options that are not known to differ.
// `work` counts the values that were compared; above limits::kMaxOptionWork the schema is refused.
// Thread-safe.
absl::Status CheckOptionsDiffer(const nlohmann::ordered_json& root,
                                const nlohmann::ordered_json& options, const std::string& pointer,
                                size_t* work);

}  // namespace ruvd::inference
