// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "node/cli/release_fields.h"
#include "node/cli/sharing_tier.h"
#include "node/cli/verbs.h"
#include "node/client/client.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"

namespace ruvd::cli {
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

std::string PurposesOf(const admin::v1::UserConsent& consent) {
  if (!consent.training() && !consent.sharing()) {
    return "nothing (withdrawn)";
  }
  return !consent.sharing() ? "training" : consent.training() ? "training, sharing" : "sharing";
}

// Who is told that items are offered no more. Nothing where there are none.
std::string WithdrawalLine(uint32_t items, uint32_t peers) {
  return items == 0
             ? ""
             : fmt::format(
                   "a signed withdrawal went to {} linked peer(s), and goes to others when they "
                   "are linked: they drop these items, take them no more, and make their adapter "
                   "anew without them\n",
                   peers);
}

absl::Status SetTier(CommandContext& context, SharingTier tier) {
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.SetConsent(tier));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  if (response.tier() == pattern::v1::SHARING_TIER_PRIVATE) {
    context.out << fmt::format(
        "sharing is off: nothing more leaves this node, and {} items are no longer offered to "
        "peers\n{}{}\n",
        response.items_taken_back(),
        WithdrawalLine(response.items_taken_back(), response.peers_told()), response.residual());
    return absl::OkStatus();
  }
  context.out << fmt::format("sharing is on, tier {}: {} items are offered to peers now\n",
                             TierLabel(response.tier()), response.items_offered());
  context.out << WithdrawalLine(response.items_taken_back(), response.peers_told());
  if (response.tier() != pattern::v1::SHARING_TIER_PUBLIC) {
    ASSIGN_OR_RETURN(const auto consent, client.GetConsent());
    context.out << FormatFields(ReleaseFields(consent.release()));
  }
  return absl::OkStatus();
}

absl::Status ShowConsent(CommandContext& context) {
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.GetConsent());
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  std::vector<std::pair<std::string, std::string>> fields = {
      {"tier", TierLabel(response.tier())},
      {"since", TimeLabel(response.since_ms(), "always")},
      {"shared", fmt::format("{} bytes", response.bytes_shared())},
  };
  if (response.has_release()) {
    for (auto& field : ReleaseFields(response.release())) {
      fields.push_back(std::move(field));
    }
    for (auto& field : CentroidFields(response.centroids())) {
      fields.push_back(std::move(field));
    }
  }
  context.out << FormatFields(fields);
  return absl::OkStatus();
}

// Whose consent a verb is about.
struct SubjectFlags {
  std::string user;
  std::string session;

  void AddTo(CLI::App& verb) {
    auto* const by_user = verb.add_option("--user", user, "The user, as requests name them");
    verb.add_option("--session", session, "One session instead")->excludes(by_user);
  }
  // USAGE without either.
  absl::Status Write(admin::v1::SetUserConsentRequest* request) const {
    if (user.empty() == session.empty()) {
      return UsageError("name --user or --session: whose consent it is");
    }
    if (user.empty()) {
      request->set_session_id(session);
    } else {
      request->set_user_id(user);
    }
    return absl::OkStatus();
  }
};

struct AllowFlags {
  SubjectFlags subject;
  std::string tier;
  uint32_t days = 90;
  bool training_only = false;
};

absl::Status Allow(CommandContext& context, const AllowFlags& flags) {
  admin::v1::SetUserConsentRequest request;
  RETURN_IF_ERROR(flags.subject.Write(&request));
  request.set_training(true);
  request.set_sharing(!flags.training_only);
  request.set_widest(Tiers().at(flags.tier));
  request.set_days(flags.days);
  ASSIGN_OR_RETURN(const auto response,
                   client::NodeClient(context.server, context.credentials).SetUserConsent(request));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  context.out << fmt::format(
      "noted until {}: {}\nlessons that were learned before stay as they are until new feedback "
      "teaches them again\n",
      TimeLabel(response.consent().expires_ms(), ""), PurposesOf(response.consent()));
  return absl::OkStatus();
}

absl::Status Withdraw(CommandContext& context, const SubjectFlags& subject) {
  admin::v1::SetUserConsentRequest request;
  RETURN_IF_ERROR(subject.Write(&request));
  ASSIGN_OR_RETURN(const auto response,
                   client::NodeClient(context.server, context.credentials).SetUserConsent(request));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  context.out << fmt::format(
      "withdrawn: {} items are no longer offered to peers ({} updates, {} patterns)\n",
      response.items_taken_back(), response.items_taken_back() - response.patterns_taken_back(),
      response.patterns_taken_back());
  context.out << WithdrawalLine(response.items_taken_back(), response.peers_told());
  context.out << response.residual() << "\n";
  return absl::OkStatus();
}

absl::Status ListConsents(CommandContext& context) {
  ASSIGN_OR_RETURN(const auto response,
                   client::NodeClient(context.server, context.credentials).ListUserConsents());
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& consent : response.consents()) {
    rows.push_back({PrintableLine(consent.has_user_id() ? "user " + consent.user_id()
                                                        : "session " + consent.session_id()),
                    PurposesOf(consent), consent.training() ? TierLabel(consent.widest()) : "-",
                    TimeLabel(consent.granted_ms(), ""), TimeLabel(consent.expires_ms(), "")});
  }
  context.out << FormatTable({"OF", "FOR", "TIER UP TO", "SINCE", "UNTIL"}, rows);
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
          "public: plain and signed. dp: updates with noise, within privacy.node_epsilon. masked: "
          "sums of at least four nodes, with noise, within the same")
      ->required()
      ->check(CLI::IsMember({"public", "dp", "masked"}));
  verbs.Add(
      "consent revoke", kConsentGroup, "Nothing more leaves this node",
      [](CommandContext& context) { return SetTier(context, pattern::v1::SHARING_TIER_PRIVATE); });
  verbs.Add("consent status", kConsentGroup, "What is allowed and how much has left", ShowConsent);

  auto allow = std::make_shared<AllowFlags>();
  CLI::App& grant = verbs.Add("consent allow", kConsentGroup,
                              "Note that a user or a session lets what it taught leave this node",
                              [allow](CommandContext& context) { return Allow(context, *allow); });
  allow->subject.AddTo(grant);
  grant.add_option("--tier", allow->tier, "The loosest tier that it agrees to")
      ->required()
      ->check(CLI::IsMember({"public", "dp", "masked"}));
  grant.add_option("--days", allow->days, "How long it holds, 1 to 366")->capture_default_str();
  grant.add_flag("--training-only", allow->training_only,
                 "Adapters may learn from it, nothing of them leaves");
  auto subject = std::make_shared<SubjectFlags>();
  subject->AddTo(verbs.Add(
      "consent withdraw", kConsentGroup, "Note that a user or a session takes it back, at once",
      [subject](CommandContext& context) { return Withdraw(context, *subject); }));
  verbs.Add("consent list", kConsentGroup, "Which users and sessions agreed to what", ListConsents);
}

}  // namespace ruvd::cli
