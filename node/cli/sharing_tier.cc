// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/sharing_tier.h"

namespace ruvd::cli {

std::string TierLabel(pattern::v1::SharingTier tier) {
  switch (tier) {
    case pattern::v1::SHARING_TIER_PRIVATE:
      return "private";
    case pattern::v1::SHARING_TIER_MASKED:
      return "masked";
    case pattern::v1::SHARING_TIER_DP:
      return "dp";
    case pattern::v1::SHARING_TIER_PUBLIC:
      return "public";
    default:
      return "unspecified";
  }
}

std::optional<pattern::v1::SharingTier> ParseTier(std::string_view name) {
  for (const auto tier : {pattern::v1::SHARING_TIER_PRIVATE, pattern::v1::SHARING_TIER_MASKED,
                          pattern::v1::SHARING_TIER_DP, pattern::v1::SHARING_TIER_PUBLIC}) {
    if (TierLabel(tier) == name) {
      return tier;
    }
  }
  return std::nullopt;
}

}  // namespace ruvd::cli
