// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::cli {

// Returns "private", "masked", "dp" or "public"; "unspecified" if there is no tier, and the number
// of one that this version does not know.
std::string TierLabel(privacy::v1::SharingTier tier);

// Returns the tier with this name; nullopt for any other text.
std::optional<privacy::v1::SharingTier> ParseTier(std::string_view name);

}  // namespace ruvd::cli
