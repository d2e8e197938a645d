// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The second part of the tour: before consent nothing leaves node a; after consent b and c learn
// from a.

#include <fmt/format.h>

#include "base/status.h"
#include "node/local/tour/tour.h"
#include "ruvd/node/v1/node.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::cli {
namespace {

// A gate scores a passage twice, which takes most of a minute on a busy machine with two cores.
constexpr std::chrono::seconds kArrival(180);
constexpr char kContributionKind[] = "contribution";

absl::StatusOr<std::string> NothingLeft(Tour& tour) {
  ASSIGN_OR_RETURN(const auto consent, tour.a().Call<privacy::v1::GetConsentResponse>(
                                           privacy::v1::GetConsentRequest()));
  if (consent.bytes_shared() != 0) {
    return Unexpected(fmt::format("{} bytes left a without consent", consent.bytes_shared()));
  }
  for (client::NodeClient* client : {&tour.b(), &tour.c()}) {
    ASSIGN_OR_RETURN(const auto status,
                     client->Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()));
    const uint64_t patterns = status.patterns().stored();
    if (patterns != 0 || !status.cluster().accepted_items().empty()) {
      return Unexpected(
          fmt::format("{} has {} patterns before consent", status.node().name(), patterns));
    }
  }
  return std::string("0 bytes were shared; b and c have no patterns");
}

absl::StatusOr<std::string> Linked(Tour& tour) {
  ASSIGN_OR_RETURN(const double seconds,
                   WaitUntil("three members alive", kArrival, [&]() -> absl::StatusOr<bool> {
                     ASSIGN_OR_RETURN(const auto status, tour.a().Call<node::v1::GetStatusResponse>(
                                                             node::v1::GetStatusRequest()));
                     return status.cluster().members_alive() >= 3;
                   }));
  return fmt::format("a sees 3 members alive after {:.1f} s", seconds);
}

absl::StatusOr<std::string> Consent(Tour& tour) {
  privacy::v1::SetConsentRequest request;
  request.set_tier(privacy::v1::SHARING_TIER_PUBLIC);
  ASSIGN_OR_RETURN(const auto response, tour.a().Call<privacy::v1::SetConsentResponse>(request));
  return fmt::format("a offers {} items", response.items_offered());
}

absl::StatusOr<std::string> PatternArrives(Tour& tour) {
  const std::string& origin = tour.node(0).id;
  std::string report;
  for (size_t i = 1; i < tour.clients.size(); ++i) {
    client::NodeClient& client = *tour.clients[i];
    ASSIGN_OR_RETURN(const double seconds,
                     WaitUntil("the pattern of a on " + tour.node(i).name, kArrival,
                               [&]() -> absl::StatusOr<bool> {
                                 ASSIGN_OR_RETURN(const auto patterns, client::AllPatterns(client));
                                 for (const auto& pattern : patterns) {
                                   if (pattern.origin() == origin) {
                                     return true;
                                   }
                                 }
                                 return false;
                               }));
    report += fmt::format("{}{} +{:.2f} s", report.empty() ? "" : ", ", tour.node(i).name, seconds);
  }
  return report;
}

absl::StatusOr<bool> HasContribution(client::NodeClient& client,
                                     node::v1::GetStatusResponse* status) {
  ASSIGN_OR_RETURN(*status, client.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()));
  const auto& accepted = status->cluster().accepted_items();
  const auto found = accepted.find(kContributionKind);
  return found != accepted.end() && found->second > 0;
}

absl::StatusOr<std::string> ContributionArrives(Tour& tour) {
  std::string report;
  for (size_t i = 1; i < tour.clients.size(); ++i) {
    node::v1::GetStatusResponse status;
    ASSIGN_OR_RETURN(const double seconds,
                     WaitUntil("the contribution of a on " + tour.node(i).name, kArrival,
                               [&] { return HasContribution(*tour.clients[i], &status); }));
    report += fmt::format("{}{} +{:.2f} s", report.empty() ? "" : ", ", tour.node(i).name, seconds);
  }
  return report;
}

// A node serves the global adapter only after its own gate found that the loss on general text did
// not rise too much.
absl::StatusOr<std::string> GlobalServed(Tour& tour) {
  std::string report;
  for (size_t i = 1; i < tour.clients.size(); ++i) {
    node::v1::GetStatusResponse status;
    ASSIGN_OR_RETURN(const double seconds,
                     WaitUntil("the global adapter serving on " + tour.node(i).name, kArrival,
                               [&]() -> absl::StatusOr<bool> {
                                 ASSIGN_OR_RETURN(
                                     status, tour.clients[i]->Call<node::v1::GetStatusResponse>(
                                                 node::v1::GetStatusRequest()));
                                 return status.rounds().served_version() > 0;
                               }));
    report += fmt::format("{}{} +{:.2f} s (version {})", report.empty() ? "" : ", ",
                          tour.node(i).name, seconds, status.rounds().served_version());
  }
  return report;
}

absl::StatusOr<std::string> LossFellOnB(Tour& tour) {
  const TourLesson& lesson = TourLessons()[0];
  double now = tour.loss_before_b;
  const auto seconds =
      WaitUntil("b's loss below what it was", kArrival, [&]() -> absl::StatusOr<bool> {
        ASSIGN_OR_RETURN(now, HeldOutLoss(tour.b(), lesson.prompt, lesson.correction, true));
        return now < tour.loss_before_b;
      });
  if (!seconds.ok()) {
    return Unexpected(fmt::format("{:.4f} before, {:.4f} now", tour.loss_before_b, now));
  }
  ASSIGN_OR_RETURN(const double without,
                   HeldOutLoss(tour.b(), lesson.prompt, lesson.correction, false));
  return fmt::format("{:.4f} before, {:.4f} now ({:.4f} with adapters off) nats/token",
                     tour.loss_before_b, now, without);
}

const TourStep kSharingSteps[] = {
    {"the nodes found each other", Linked},
    {"before consent nothing leaves a", NothingLeft},
    {"consent on a, tier public", Consent},
    {"the pattern reaches b and c", PatternArrives},
    {"the contribution of a to a round reaches b and c", ContributionArrives},
    {"their gates accepted it: the global adapter serves", GlobalServed},
    {"b's loss on the correction fell", LossFellOnB},
};

}  // namespace

std::span<const TourStep> SharingSteps() {
  return kSharingSteps;
}

}  // namespace ruvd::cli
