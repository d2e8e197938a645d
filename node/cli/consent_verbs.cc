// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <cstdint>
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
#include "node/client/pages.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::cli {
namespace {

using google::protobuf::util::TimeUtil;
using privacy::v1::SharingTier;

constexpr char kConsentGroup[] = "Privacy";

const std::map<std::string, SharingTier>& Tiers() {
  static const auto* const tiers =
      new std::map<std::string, SharingTier>{{"masked", privacy::v1::SHARING_TIER_MASKED},
                                             {"dp", privacy::v1::SHARING_TIER_DP},
                                             {"public", privacy::v1::SHARING_TIER_PUBLIC}};
  return *tiers;
}

std::string PurposesOf(const privacy::v1::UserConsent& consent) {
  if (!consent.training() && !consent.sharing()) {
    return "nothing (withdrawn)";
  }
  return !consent.sharing() ? "training" : consent.training() ? "training, sharing" : "sharing";
}

// Says which peers are told that items are withdrawn. Returns "" if there are no items.
std::string WithdrawalLine(uint32_t items, uint32_t peers) {
  return items == 0 ? ""
                    : fmt::format(
                          "a signed withdrawal was sent to {} linked peer(s); other peers get it "
                          "when they link. A peer that gets it deletes these items, refuses them "
                          "from then on, and rebuilds its adapter without them\n",
                          peers);
}

absl::Status SetTier(CommandContext& context, SharingTier tier) {
  client::NodeClient client(context.server, context.credentials);
  privacy::v1::SetConsentRequest request;
  request.set_tier(tier);
  ASSIGN_OR_RETURN(const auto response, client.Call<privacy::v1::SetConsentResponse>(request));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  if (response.tier() == privacy::v1::SHARING_TIER_PRIVATE) {
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
  if (response.tier() != privacy::v1::SHARING_TIER_PUBLIC) {
    ASSIGN_OR_RETURN(const auto consent, client.Call<privacy::v1::GetConsentResponse>(
                                             privacy::v1::GetConsentRequest()));
    context.out << FormatFields(ReleaseFields(consent.release()));
  }
  return absl::OkStatus();
}

absl::Status ShowConsent(CommandContext& context) {
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response,
                   client.Call<privacy::v1::GetConsentResponse>(privacy::v1::GetConsentRequest()));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  std::vector<std::pair<std::string, std::string>> fields = {
      {"tier", TierLabel(response.tier())},
      {"since", TimeLabel(response.since(), "always")},
      {"shared", fmt::format("{} bytes", response.bytes_shared())},
  };
  for (auto& field : ReleaseFields(response.release())) {
    fields.push_back(std::move(field));
  }
  context.out << FormatFields(fields);
  return absl::OkStatus();
}

// The flags that name the user or session whose consent a verb changes.
struct SubjectFlags {
  std::string user;
  std::string session;

  void AddTo(Verb verb) {
    const Flag by_user = verb.Option("--user", user, "User id, as requests name it");
    verb.Option("--session", session, "Session id, instead of a user").Excludes(by_user);
  }
  // USAGE if neither flag is given.
  absl::Status Write(privacy::v1::SetUserConsentRequest* request) const {
    if (user.empty() == session.empty()) {
      return UsageError("name the user with --user or the session with --session");
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
  privacy::v1::SetUserConsentRequest request;
  RETURN_IF_ERROR(flags.subject.Write(&request));
  request.set_training(true);
  request.set_sharing(!flags.training_only);
  request.set_widest(Tiers().at(flags.tier));
  *request.mutable_lifetime() = TimeUtil::HoursToDuration(24 * int64_t{flags.days});
  ASSIGN_OR_RETURN(const auto response, client::NodeClient(context.server, context.credentials)
                                            .Call<privacy::v1::SetUserConsentResponse>(request));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  context.out << fmt::format(
      "consent stored until {}: {}\n"
      "lessons that were learned earlier do not change until new feedback teaches them again\n",
      TimeLabel(response.consent().expire_time(), ""), PurposesOf(response.consent()));
  return absl::OkStatus();
}

absl::Status Withdraw(CommandContext& context, const SubjectFlags& subject) {
  privacy::v1::SetUserConsentRequest request;
  RETURN_IF_ERROR(subject.Write(&request));
  ASSIGN_OR_RETURN(const auto response, client::NodeClient(context.server, context.credentials)
                                            .Call<privacy::v1::SetUserConsentResponse>(request));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  context.out << fmt::format(
      "withdrawn: {} items are no longer offered to peers ({} contributions, {} patterns)\n",
      response.items_taken_back(), response.items_taken_back() - response.patterns_taken_back(),
      response.patterns_taken_back());
  context.out << WithdrawalLine(response.items_taken_back(), response.peers_told());
  context.out << response.residual() << "\n";
  return absl::OkStatus();
}

absl::Status ListConsents(CommandContext& context) {
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client::AllPages<privacy::v1::ListUserConsentsResponse>(
                                            client, privacy::v1::ListUserConsentsRequest()));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& consent : response.consents()) {
    rows.push_back({PrintableLine(consent.has_user_id() ? "user " + consent.user_id()
                                                        : "session " + consent.session_id()),
                    PurposesOf(consent), consent.training() ? TierLabel(consent.widest()) : "-",
                    TimeLabel(consent.grant_time(), ""), TimeLabel(consent.expire_time(), "")});
  }
  context.out << FormatTable({"OF", "FOR", "TIER UP TO", "SINCE", "UNTIL"}, rows);
  return absl::OkStatus();
}

}  // namespace

void AddConsentVerbs(VerbTable& verbs) {
  auto tier = std::make_shared<std::string>();
  verbs
      .Add("consent grant", kConsentGroup, "Allow this node to share what it learned",
           [tier](CommandContext& context) { return SetTier(context, Tiers().at(*tier)); })
      .Option("--tier", *tier,
              "public: signed items without noise. dp: contributions with noise, within "
              "privacy.epsilon. masked: noised sums over at least four nodes, within the "
              "same budget")
      .Required()
      .OneOf({"public", "dp", "masked"});
  verbs.Add(
      "consent revoke", kConsentGroup, "Stop sharing: nothing more leaves this node",
      [](CommandContext& context) { return SetTier(context, privacy::v1::SHARING_TIER_PRIVATE); });
  verbs.Add("consent status", kConsentGroup, "Show what may be shared and how much was shared",
            ShowConsent);

  auto allow = std::make_shared<AllowFlags>();
  Verb grant = verbs.Add("consent allow", kConsentGroup,
                         "Store the consent of a user or session to share what was learned from it",
                         [allow](CommandContext& context) { return Allow(context, *allow); });
  allow->subject.AddTo(grant);
  grant.Option("--tier", allow->tier, "Most permissive tier that the consent allows")
      .Required()
      .OneOf({"public", "dp", "masked"});
  grant.Option("--days", allow->days, "Days for which the consent is valid, 1 to 366")
      .ShowDefault();
  grant.Switch("--training-only", allow->training_only,
               "Allow training only: nothing learned from it is shared");
  auto subject = std::make_shared<SubjectFlags>();
  subject->AddTo(verbs.Add(
      "consent withdraw", kConsentGroup, "Withdraw the consent of a user or session, at once",
      [subject](CommandContext& context) { return Withdraw(context, *subject); }));
  verbs.Add("consent list", kConsentGroup, "List the consents of users and sessions", ListConsents);
}

}  // namespace ruvd::cli
