// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <map>
#include <memory>

#include "base/status.h"
#include "node/cli/client.h"
#include "node/cli/command.h"
#include "node/cli/output.h"
#include "node/cli/sharing_tier.h"
#include "node/cli/terminal.h"
#include "node/cli/verbs.h"

namespace ruvd {
namespace {

using pattern::v1::SharingTier;

constexpr char kConsentGroup[] = "Privacy";

const std::map<std::string, SharingTier>& Tiers() {
  static const auto* const tiers =
      new std::map<std::string, SharingTier>{{"masked", pattern::v1::SHARING_TIER_MASKED},
                                             {"dp", pattern::v1::SHARING_TIER_DP},
                                             {"public", pattern::v1::SHARING_TIER_PUBLIC}};
  return *tiers;
}

absl::Status SetTier(CommandContext& context, SharingTier tier) {
  NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.SetConsent(tier));
  if (context.json) {
    context.out << ToJsonLine(response);
  } else if (response.tier() == pattern::v1::SHARING_TIER_PRIVATE) {
    context.out << "sharing is off: nothing more leaves this node\n";
  } else {
    context.out << fmt::format("sharing is on, tier {}: {} items are offered to peers now\n",
                               TierLabel(response.tier()), response.items_offered());
  }
  return absl::OkStatus();
}

absl::Status ShowConsent(CommandContext& context) {
  NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.GetConsent());
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  const std::time_t since = response.since_ms() / 1000;
  context.out << FormatFields({
      {"tier", TierLabel(response.tier())},
      {"since",
       since == 0 ? "always" : fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(since))},
      {"shared", fmt::format("{} bytes", response.bytes_shared())},
  });
  return absl::OkStatus();
}

}  // namespace

void AddConsentVerbs(VerbTable& verbs) {
  auto tier = std::make_shared<std::string>();
  verbs
      .Add("consent grant", kConsentGroup, "Let what was learned leave this node",
           [tier](CommandContext& context) { return SetTier(context, Tiers().at(*tier)); })
      .add_option(
          "--tier", *tier,
          "public: plain and signed. dp (noised) and masked (sums only) are not in this version")
      ->required()
      ->check(CLI::IsMember({"public", "dp", "masked"}));
  verbs.Add(
      "consent revoke", kConsentGroup, "Nothing more leaves this node",
      [](CommandContext& context) { return SetTier(context, pattern::v1::SHARING_TIER_PRIVATE); });
  verbs.Add("consent status", kConsentGroup, "What is allowed and how much has left", ShowConsent);
}

}  // namespace ruvd
