// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "node/cli/release_fields.h"
#include "node/cli/verbs.h"
#include "node/client/client.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "ruvd/node/v1/node.pb.h"

namespace ruvd::cli {
namespace {

// The call does no work, so a node that does not answer quickly is not reachable.
constexpr std::chrono::seconds kRoundTimeout(5);

std::string Refusal(const std::string& message, const std::string& reason) {
  return message.empty() ? "no"
                         : fmt::format("{} [{}]", PrintableLine(message), PrintableLine(reason));
}

// Describes the last judgement of a version of the global adapter on this node.
std::string Judgement(const cluster::v1::RoundsStatus& rounds) {
  if (rounds.general_before() == 0) {
    return "none yet";
  }
  return fmt::format(
      "gain {:+.4f} nats/token on {} held-out lesson(s) (standard error {:.4f}), general text "
      "{:.4f} to {:.4f}",
      rounds.gain(), rounds.judged_lessons(), rounds.standard_error(), rounds.general_before(),
      rounds.general_after());
}

std::string Served(const cluster::v1::RoundsStatus& rounds) {
  const std::string served = rounds.served_version() == 0
                                 ? std::string("no global adapter")
                                 : fmt::format("version {}", rounds.served_version());
  return rounds.held_back() ? served + "; a newer one is held back on this node" : served;
}

std::string LastContribution(const cluster::v1::RoundsStatus& rounds) {
  if (rounds.last_round() == 0) {
    return "none since the start";
  }
  std::string line =
      fmt::format("round {}, of {} lesson(s)", rounds.last_round(), rounds.last_lessons());
  if (rounds.last_members() > 0) {
    line += fmt::format(", in a sum of {} nodes", rounds.last_members());
  }
  if (rounds.payload_bytes() > 0) {
    line += fmt::format(", {} bytes", rounds.payload_bytes());
  }
  return rounds.last_epsilon() == 0
             ? line
             : line + fmt::format(", epsilon {:.3f} by itself", rounds.last_epsilon());
}

std::string Combined(const cluster::v1::RoundsStatus& rounds) {
  if (rounds.combined_round() == 0) {
    return "no round that is not settled";
  }
  const std::string line =
      fmt::format("round {}, of {} contribution(s) and {} verdict(s)", rounds.combined_round(),
                  rounds.parts_size(), rounds.verdicts());
  return rounds.combined_step() < 1
             ? line + fmt::format(
                          "; {:.2f} of a whole step, because few of the active nodes contributed",
                          rounds.combined_step())
             : line;
}

// Describes what one contribution counted in the newest round.
std::string Part(const cluster::v1::RoundPart& part) {
  std::string line = fmt::format("{} weight {:.3f}, norm {:.3g}, cosine {:+.2f}",
                                 PrintableLine(part.origin().substr(0, 16)), part.weight(),
                                 part.norm(), part.cosine());
  if (part.members() > 1) {
    line += fmt::format(", {} members", part.members());
  }
  if (part.judges() > 0) {
    line += fmt::format(", {} judge(s)", part.judges());
  }
  if (part.left_out()) {
    line += "; left out, because it stands apart from the others";
  }
  return part.refusal().empty() ? line : line + "; " + PrintableLine(part.refusal());
}

std::string LastVerdict(const cluster::v1::RoundsStatus& rounds) {
  return rounds.last_verdict_round() == 0
             ? "none since the start"
             : fmt::format("round {}, {} contribution(s) by {} lesson(s)",
                           rounds.last_verdict_round(), rounds.last_judged(),
                           rounds.last_verdict_lessons());
}

// Describes how many neighbours hold the state of this node.
std::string Neighbours(const cluster::v1::RoundsStatus& rounds) {
  if (rounds.peers_agreeing() + rounds.peers_differing() == 0) {
    return "no state compared yet";
  }
  const std::string line = fmt::format("{} with the same state, {} with another one",
                                       rounds.peers_agreeing(), rounds.peers_differing());
  return rounds.peers_differing() == 0 ? line : line + "; `ruvd members` names them";
}

absl::Status ShowRound(CommandContext& context) {
  client::NodeClient client(context.server, context.credentials);
  client.set_timeout(kRoundTimeout);
  ASSIGN_OR_RETURN(const auto status,
                   client.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()));
  if (context.json) {
    context.out << ToJsonLine(status.rounds());
    return absl::OkStatus();
  }
  if (!status.has_rounds()) {
    context.out << "this node takes part in no rounds: it does not federate, or its model has no "
                   "frame, as the log of its start says\n";
    return absl::OkStatus();
  }
  const cluster::v1::RoundsStatus& rounds = status.rounds();
  std::vector<std::pair<std::string, std::string>> fields = {
      {"round", std::to_string(rounds.round())},
      {"plan", rounds.plan_id()},
      {"frame", rounds.frame_id()},
      {"state", fmt::format("{} of round {}", rounds.state_digest(), rounds.state_round())},
      {"neighbours", Neighbours(rounds)},
      {"not settled", fmt::format("{} contribution(s), {} of this node", rounds.contributions(),
                                  rounds.own_contributions())},
      {"serves", Served(rounds)},
      {"judged", Judgement(rounds)},
      {"last given", LastContribution(rounds)},
      {"refused", Refusal(rounds.refusal(), rounds.refusal_reason())}};
  fields.emplace_back("combined", Combined(rounds));
  for (const cluster::v1::RoundPart& part : rounds.parts()) {
    fields.emplace_back("", Part(part));
  }
  if (rounds.counts_verdicts()) {
    fields.emplace_back("last verdict", LastVerdict(rounds));
    fields.emplace_back("not judged",
                        Refusal(rounds.verdict_refusal(), rounds.verdict_refusal_reason()));
  }
  if (!rounds.waits().empty()) {
    fields.emplace_back("in no sum", Refusal(rounds.waits(), rounds.waits_reason()));
  }
  for (auto& field : ReleaseFields(status.release())) {
    fields.push_back(std::move(field));
  }
  context.out << FormatFields(fields);
  return absl::OkStatus();
}

}  // namespace

void AddRoundVerb(VerbTable& verbs) {
  verbs.Add("round", "Cluster", "Show the rounds in which the nodes learn one adapter", ShowRound);
}

}  // namespace ruvd::cli
