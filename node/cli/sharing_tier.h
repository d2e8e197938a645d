// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ruvd/pattern/v1/pattern.pb.h"

namespace ruvd::cli {

// Returns "private", "masked", "dp" or "public"; "unspecified" for any other number.
std::string TierLabel(pattern::v1::SharingTier tier);

// Returns the tier with this name; nullopt for any other text.
std::optional<pattern::v1::SharingTier> ParseTier(std::string_view name);

}  // namespace ruvd::cli
