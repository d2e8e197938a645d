// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/cli/release_fields.h"
#include "node/cli/verbs.h"
#include "node/client/client.h"
#include "node/client/pages.h"
#include "node/reasons.h"
#include "node/terminal/command.h"
#include "node/terminal/enum_name.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "ruvd/node/v1/node.pb.h"
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

// Describes the rounds of the cluster in one line; `ruvd round` has the details.
std::string Rounds(const cluster::v1::RoundsStatus& rounds) {
  std::string line =
      fmt::format("round {}; {} contribution(s) not settled, {} of this node", rounds.round(),
                  rounds.contributions(), rounds.own_contributions());
  line += rounds.served_version() == 0
              ? std::string("; serves no global adapter")
              : fmt::format("; serves version {}", rounds.served_version());
  if (rounds.held_back()) {
    line += "; holds a newer version back";
  }
  const bool waits = !rounds.waits().empty();
  const std::string& why = waits ? rounds.waits() : rounds.refusal();
  const std::string& reason = waits ? rounds.waits_reason() : rounds.refusal_reason();
  return why.empty() ? line
                     : line + fmt::format("; gives nothing: {} [{}]", PrintableLine(why),
                                          PrintableLine(reason));
}

std::string MemoryText(const node::v1::MemoryStatus& memory) {
  constexpr double kMebibyte = 1 << 20;
  if (!memory.enabled()) {
    return fmt::format("off: {}", memory.disabled_because());
  }
  return fmt::format("{} tokens of {} lessons in {:.1f} MiB, {} lessons still to be read",
                     memory.tokens(), memory.lessons(),
                     static_cast<double>(memory.bytes()) / kMebibyte, memory.waiting());
}

std::string ProblemText(const node::v1::PartStatus& part) {
  return fmt::format("{}: {}", PrintableLine(part.name()), PrintableLine(part.problem()));
}

// Says what a limit kept off.
std::string LimitText(const node::v1::LimitStatus& limit) {
  std::string text = fmt::format("{} ({}): {} refused or put off", PrintableLine(limit.name()),
                                 EnumName(limit.scope()), limit.refused());
  if (limit.limit() > 0) {
    text += fmt::format("; the limit is {} {}", limit.limit(), PrintableLine(limit.unit()));
  }
  if (limit.used() > 0) {
    text += fmt::format(", {} in use", limit.used());
  }
  return text;
}

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string PatternsText(const node::v1::GetStatusResponse& status) {
  const node::v1::PatternStatus& patterns = status.patterns();
  return fmt::format("{} of at most {}, of {} values, {} not linked yet{}", patterns.stored(),
                     patterns.capacity(), status.node().embedding_dimension(), patterns.pending(),
                     patterns.problem().empty() ? "" : "; " + patterns.problem());
}

std::string WitnessText(const node::v1::WitnessStatus& witness) {
  return fmt::format("{} stored, {} waiting, {} refused, {} crowded out", witness.stored(),
                     witness.queued(), witness.refused(), witness.crowded_out());
}

void AddCertificate(const node::v1::CertificateStatus& certificate, Fields* fields) {
  if (!certificate.has_expire_time()) {
    return;
  }
  fields->emplace_back("member until", FormatTime(certificate.expire_time()) + " UTC");
  fields->emplace_back("issuer", fmt::format("{}, until {} UTC", certificate.issuer_number(),
                                             FormatTime(certificate.issuer_expire_time())));
  if (certificate.key_epoch() > 0) {
    fields->emplace_back("node key", fmt::format("replaced {} time(s)", certificate.key_epoch()));
  }
}

Fields FieldsOf(const node::v1::GetStatusResponse& status) {
  const node::v1::NodeStatus& node = status.node();
  const node::v1::ClusterStatus& cluster = status.cluster();
  Fields fields = {
      {"node", fmt::format("{} ({})", node.name(), node.id())},
      {"state", fmt::format("{}, up {:.0f} s", EnumName(node.state()), SecondsOf(node.uptime()))},
      {"version", node.version()},
      {"model", fmt::format("{} ({})", node.model(), node.model_hash())},
      {"storage", EnumName(status.store().health())},
      {"patterns", PatternsText(status)},
      {"trajectories", fmt::format("{}", status.store().trajectories())},
      {"memory", MemoryText(status.memory())},
      {"sessions", fmt::format("{}", status.store().sessions())},
      {"witness", WitnessText(status.witness())},
      {"requests", fmt::format("{} running", status.serving().requests_running())},
      {"watches", fmt::format("{} stream(s) follow the patterns", status.patterns().watches())},
      {"members", fmt::format("{} alive", cluster.members_alive())},
      {"accepted", Counts(cluster.accepted_items())},
      {"refused", Counts(cluster.refused_envelopes())},
      {"dead letters", fmt::format("{}", node.dead_letters())},
  };
  for (const node::v1::PartStatus& part : status.parts()) {
    if (!part.problem().empty()) {
      fields.emplace_back("problem", ProblemText(part));
    }
  }
  for (const node::v1::LimitStatus& limit : status.limits()) {
    if (limit.refused() > 0) {
      fields.emplace_back("limit", LimitText(limit));
    }
  }
  AddCertificate(status.certificate(), &fields);
  if (status.has_rounds()) {
    fields.emplace_back("rounds", Rounds(status.rounds()));
  }
  for (auto& field : ReleaseFields(status.release())) {
    fields.push_back(std::move(field));
  }
  return fields;
}

absl::Status Status(CommandContext& context) {
  client::NodeClient client(context.server, context.credentials);
  client.set_timeout(kProbeTimeout);
  ASSIGN_OR_RETURN(const auto status,
                   client.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()));
  context.out << (context.json ? ToJsonLine(status) : FormatFields(FieldsOf(status)));
  return absl::OkStatus();
}

// Describes what became of the patterns that a member offers.
std::string Patterns(const cluster::v1::PeerPatternStatus& patterns) {
  std::string text = fmt::format("{} of {} serve", patterns.taken(), patterns.offered());
  const uint32_t waiting = patterns.on_trial() + patterns.deferred() + patterns.fetching();
  if (waiting > 0) {
    text += fmt::format("; {} on trial, {} deferred, {} not here yet, the newest {:.0f} s old",
                        patterns.on_trial(), patterns.deferred(), patterns.fetching(),
                        SecondsOf(patterns.lag()));
  }
  if (patterns.without_adapter() > 0) {
    text += fmt::format("; {} without adapter", patterns.without_adapter());
  }
  if (!patterns.refused().empty()) {
    text += "; refused: " + PrintableLine(Counts(patterns.refused()));
  }
  return text;
}

// Describes what became of a member's expert.
std::string Expert(const cluster::v1::ExpertStatus& expert) {
  // A node without an expert of its own says why below the table.
  std::string text = expert.standing() == cluster::v1::EXPERT_STANDING_NOT_OFFERED
                         ? "none"
                         : EnumName(expert.standing());
  if (expert.version() != 0) {
    text = fmt::format("@{} {}", expert.version(), text);
  }
  if (expert.texts() > 0) {
    text += fmt::format(", {} texts", expert.texts());
  }
  if (expert.gain() != 0) {
    text += fmt::format(", gain {:+.3f}", expert.gain());
  }
  return text;
}

absl::Status Members(CommandContext& context) {
  client::NodeClient client(context.server, context.credentials);
  client.set_timeout(kProbeTimeout);
  ASSIGN_OR_RETURN(const auto response, client::AllPages<cluster::v1::ListMembersResponse>(
                                            client, cluster::v1::ListMembersRequest()));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> rows;
  rows.reserve(static_cast<size_t>(response.members_size()));
  for (const auto& member : response.members()) {
    const bool self = member.state() == cluster::v1::MEMBER_STATE_SELF;
    const std::string rounds = EnumName(member.rounds());
    rows.push_back(
        {member.name(), EnumName(member.state()), member.address(), member.linked() ? "yes" : "-",
         rounds.empty() ? "-" : rounds,
         self || !member.has_rtt() ? "-" : fmt::format("{:.1f} ms", MillisOf(member.rtt())),
         self ? "-" : fmt::format("{:.1f} s", SecondsOf(member.since_heard())),
         member.has_patterns() ? Patterns(member.patterns()) : "-",
         member.has_expert() ? Expert(member.expert()) : "-", member.node_id()});
  }
  context.out << FormatTable(
      {"NAME", "STATE", "ADDRESS", "LINKED", "ROUNDS", "RTT", "HEARD", "PATTERNS", "EXPERT", "ID"},
      rows);
  for (const auto& member : response.members()) {
    if (!member.expert().why().empty()) {
      context.out << fmt::format("\n{}, expert: {}\n", PrintableLine(member.name()),
                                 PrintableLine(member.expert().why()));
    }
  }
  return absl::OkStatus();
}

// Says why a node that answers is not well, if its status is allowed to be seen.
absl::Status NotServing(client::NodeClient& client, const std::string& server) {
  const auto status = client.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest());
  std::string problems;
  if (status.ok()) {
    for (const node::v1::PartStatus& part : status->parts()) {
      if (!part.problem().empty()) {
        problems += (problems.empty() ? "" : "; ") + ProblemText(part);
      }
    }
  }
  if (problems.empty()) {
    return Error(absl::StatusCode::kUnavailable, reasons::kNodeDraining,
                 "the node at {} is up but not serving; wait, or ask `ruvd status`", server);
  }
  return Error(absl::StatusCode::kUnavailable, reasons::kNodeDegraded,
               "the node at {} answers, but a part of it does not work: {}", server, problems);
}

// The gRPC services that a node reports about, by the names that `ruvd health` takes.
const std::map<std::string, std::string>& HealthNames() {
  static const auto* const names = new std::map<std::string, std::string>{
      {"inference", "ruvd.inference.v1.InferenceService"},
      {"learning", "ruvd.learning.v1.LearningService"},
      {"pattern", "ruvd.pattern.v1.PatternService"},
      {"federation", "ruvd.federation.v1.FederationService"}};
  return *names;
}

absl::Status Health(CommandContext& context, const std::string& service) {
  const auto name = HealthNames().find(service);
  if (!service.empty() && name == HealthNames().end()) {
    return UsageError(fmt::format(
        "there is no service {}; use --service inference, learning, pattern or federation",
        service));
  }
  client::NodeClient client(context.server, context.credentials);
  client.set_timeout(kProbeTimeout);
  ASSIGN_OR_RETURN(const bool serving, client.Healthy(service.empty() ? "" : name->second));
  if (!serving) {
    return NotServing(client, context.server);
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
  auto service = std::make_shared<std::string>();
  Verb health = verbs.Add("health", kClusterGroup,
                          "Check the node: exit code 0 if all its parts work, 3 if not",
                          [service](CommandContext& c) { return Health(c, *service); });
  health.Option("--service", *service,
                "Check only what a service needs: inference, learning, pattern or federation");
}

}  // namespace ruvd::cli
