// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/cli/release_fields.h"
#include "node/cli/verbs.h"
#include "node/client/client.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"
#include "ruvd/admin/v1/admin.pb.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

constexpr char kClusterGroup[] = "Cluster";

// Status calls do no work, so a node that does not answer quickly is not reachable.
constexpr std::chrono::seconds kProbeTimeout(5);

// Returns "name 3, name 1", ordered by name, or "none".
template <typename Map>
std::string Counts(const Map& counts) {
  std::string text;
  for (const auto& [name, count] : std::map(counts.begin(), counts.end())) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  }
  return text.empty() ? "none" : text;
}

// Describes the last round: the updates that the shared adapter was made of.
std::string LastRound(const admin::v1::GetStatusResponse& status) {
  int refused = 0;
  for (const auto& peer : status.peers()) {
    refused += peer.refusal().empty() ? 0 : 1;
  }
  if (status.peers_size() == 0) {
    return "none";
  }
  int kept = 0;
  int rolled_back = 0;
  for (const auto& bank : status.federated_round().banks()) {
    kept += bank.verdict() == "committed" ? 1 : 0;
    rolled_back += bank.verdict() == "rolled_back" ? 1 : 0;
  }
  return fmt::format("{} update(s), {} left out; of {} bank(s) {} committed, {} rolled back",
                     status.peers_size() - refused, refused, status.federated_round().banks_size(),
                     kept, rolled_back);
}

// Describes the last masked round that this node had a part in.
std::string LastMaskedRound(const admin::v1::MaskedStatus& masked) {
  std::string line = "none";
  if (masked.last_round() > 0 && masked.refusal().empty()) {
    line = fmt::format("{}: a sum of {} of {} nodes, {}, in attempt {}", masked.last_round(),
                       masked.last_members(), masked.last_group(),
                       masked.last_own() ? "this one among them" : "this one not among them",
                       masked.last_attempt());
  } else if (masked.last_round() > 0) {
    line = fmt::format("{}: no sum: {} [{}]", masked.last_round(), PrintableLine(masked.refusal()),
                       PrintableLine(masked.refusal_reason()));
  }
  line += fmt::format("; {} sum(s) count", masked.sums());
  return masked.waits().empty() ? line : line + "; takes no part: " + PrintableLine(masked.waits());
}

// Describes the rounds of the cluster and what this node gives to them and has from them.
std::string Rounds(const admin::v1::RoundsStatus& rounds) {
  std::string line =
      fmt::format("round {}; {} contribution(s) not settled, {} of this node; state {} of round {}",
                  rounds.round(), rounds.contributions(), rounds.own_contributions(),
                  rounds.state_digest().substr(0, 12), rounds.state_round());
  line += rounds.served_version() == 0
              ? std::string("; serves no global adapter")
              : fmt::format("; serves version {}", rounds.served_version());
  if (rounds.held_back()) {
    line += fmt::format("; holds a newer version back (gain {:+.4f} on {} lessons)", rounds.gain(),
                        rounds.judged_lessons());
  }
  return rounds.refusal().empty()
             ? line
             : line + fmt::format("; gives nothing: {} [{}]", PrintableLine(rounds.refusal()),
                                  PrintableLine(rounds.refusal_reason()));
}

absl::Status Status(CommandContext& context) {
  client::NodeClient client(context.server, context.credentials);
  client.set_timeout(kProbeTimeout);
  ASSIGN_OR_RETURN(const auto status,
                   client.Call<admin::v1::GetStatusResponse>(admin::v1::GetStatusRequest()));
  if (context.json) {
    context.out << ToJsonLine(status);
    return absl::OkStatus();
  }
  std::vector<std::pair<std::string, std::string>> fields = {
      {"node", fmt::format("{} ({})", status.name(), status.node_id())},
      {"state", fmt::format("{}, up {:.0f} s", status.state(), status.uptime_seconds())},
      {"version", status.version()},
      {"model", fmt::format("{} ({})", status.model_name(), status.model_hash())},
      {"storage", status.storage_health()},
      {"patterns",
       fmt::format("{} of at most {}, of {} values, {} not linked yet{}", status.patterns(),
                   status.patterns_capacity(), status.embedding_dimension(),
                   status.patterns_pending(),
                   status.patterns_problem().empty() ? "" : "; " + status.patterns_problem())},
      {"trajectories", fmt::format("{}", status.trajectories())},
      {"sessions", fmt::format("{}", status.sessions())},
      {"witness", fmt::format("{} stored, {} waiting, {} refused, {} crowded out",
                              status.witness_stored(), status.witness_queued(),
                              status.witness_refused(), status.witness_crowded_out())},
      {"requests", fmt::format("{} running", status.requests_running())},
      {"watches", fmt::format("{} stream(s) follow the patterns", status.pattern_watches())},
      {"members", fmt::format("{} alive", status.members_alive())},
      {"shared adapter", fmt::format("version {}", status.federated_adapter_version())},
      {"last round", LastRound(status)},
      {"accepted", Counts(status.accepted_items())},
      {"refused", Counts(status.refused_envelopes())},
      {"dead letters", fmt::format("{}", status.dead_letters())},
  };
  if (status.certificate_expires_ms() != 0) {
    fields.emplace_back("member until", FormatTime(status.certificate_expires_ms()) + " UTC");
  }
  if (status.has_rounds()) {
    fields.emplace_back("rounds", Rounds(status.rounds()));
  }
  if (status.has_masked()) {
    fields.emplace_back("masked round", LastMaskedRound(status.masked()));
  }
  if (status.has_release()) {
    for (auto& field : ReleaseFields(status.release())) {
      fields.push_back(std::move(field));
    }
    for (auto& field : CentroidFields(status.centroids())) {
      fields.push_back(std::move(field));
    }
  }
  context.out << FormatFields(fields);
  return absl::OkStatus();
}

absl::Status Members(CommandContext& context) {
  client::NodeClient client(context.server, context.credentials);
  client.set_timeout(kProbeTimeout);
  ASSIGN_OR_RETURN(const auto response,
                   client.Call<admin::v1::ListMembersResponse>(admin::v1::ListMembersRequest()));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> rows;
  rows.reserve(static_cast<size_t>(response.members_size()));
  for (const auto& member : response.members()) {
    const bool self = member.state() == "self";
    rows.push_back({member.name(), member.state(), member.address(), member.linked() ? "yes" : "-",
                    self || member.rtt_ms() == 0 ? "-" : fmt::format("{:.1f} ms", member.rtt_ms()),
                    self ? "-" : fmt::format("{:.1f} s", member.last_heard_seconds()),
                    member.node_id()});
  }
  context.out << FormatTable({"NAME", "STATE", "ADDRESS", "LINKED", "RTT", "HEARD", "ID"}, rows);
  return absl::OkStatus();
}

absl::Status Health(CommandContext& context) {
  client::NodeClient client(context.server, context.credentials);
  client.set_timeout(kProbeTimeout);
  ASSIGN_OR_RETURN(const bool serving, client.Healthy());
  if (!serving) {
    return Error(absl::StatusCode::kUnavailable, reasons::kNodeDraining,
                 "the node at {} is up but not serving; wait, or ask `ruvd status`",
                 context.server);
  }
  report::v1::HealthReport report;
  report.set_serving(true);
  context.out << (context.json ? ToJsonLine(report) : "serving\n");
  return absl::OkStatus();
}

}  // namespace

void AddClusterVerbs(VerbTable& verbs) {
  verbs.Add("status", kClusterGroup, "Show what a node is doing", Status);
  verbs.Add("members", kClusterGroup, "List the members of the cluster", Members);
  verbs.Add("health", kClusterGroup, "Check the node: exit code 0 if it serves, 3 if not", Health);
}

}  // namespace ruvd::cli
