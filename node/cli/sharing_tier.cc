// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/sharing_tier.h"

#include "node/terminal/enum_name.h"

namespace ruvd::cli {

std::string TierLabel(privacy::v1::SharingTier tier) {
  return tier == privacy::v1::SHARING_TIER_UNSPECIFIED ? "unspecified" : EnumName(tier);
}

std::optional<privacy::v1::SharingTier> ParseTier(std::string_view name) {
  for (const auto tier : {privacy::v1::SHARING_TIER_PRIVATE, privacy::v1::SHARING_TIER_MASKED,
                          privacy::v1::SHARING_TIER_DP, privacy::v1::SHARING_TIER_PUBLIC}) {
    if (TierLabel(tier) == name) {
      return tier;
    }
  }
  return std::nullopt;
}

}  // namespace ruvd::cli
