// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/status.h"
#include "node/cli/verbs.h"
#include "node/client/client.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "ruvd/admin/v1/admin.pb.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

// The call does no work, so a node that does not answer quickly is not reachable.
constexpr std::chrono::seconds kRoundTimeout(5);

std::string BankTable(const admin::v1::FederatedRound& round) {
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < round.banks_size(); ++i) {
    const admin::v1::BankOutcome& bank = round.banks(i);
    rows.push_back({fmt::format("{}", i), bank.verdict(), fmt::format("{}", bank.contributors()),
                    fmt::format("{:.4f} ± {:.4f}", bank.gain(), bank.standard_error()),
                    fmt::format("{}", bank.documents()),
                    fmt::format("{:+.2f} %", 100 * bank.general_loss())});
  }
  return FormatTable({"BANK", "VERDICT", "UPDATES", "GAIN (NATS/TOKEN)", "LESSONS", "GENERAL LOSS"},
                     rows);
}

std::string PeerTable(const report::v1::RoundReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const admin::v1::PeerEffect& peer : report.peers()) {
    rows.push_back({peer.node_id().empty() ? fmt::format("sum of {} nodes", peer.members())
                                           : peer.node_id().substr(0, 12),
                    fmt::format("{:.3f}", peer.weight()), fmt::format("{:.3f}", peer.norm()),
                    fmt::format("{:.3f}", peer.cosine()), fmt::format("{:.2f}", peer.reputation()),
                    peer.refusal().empty()
                        ? "used"
                        : fmt::format("left out: {} [{}]", peer.refusal(), peer.refusal_reason())});
  }
  return FormatTable({"NODE", "WEIGHT", "NORM", "COSINE", "REPUTATION", "OUTCOME"}, rows);
}

absl::Status ShowRound(CommandContext& context) {
  client::NodeClient client(context.server, context.credentials);
  client.set_timeout(kRoundTimeout);
  ASSIGN_OR_RETURN(const auto status,
                   client.Call<admin::v1::GetStatusResponse>(admin::v1::GetStatusRequest()));
  report::v1::RoundReport report;
  if (status.has_federated_round()) {
    *report.mutable_round() = status.federated_round();
    *report.mutable_peers() = status.peers();
  }
  if (context.json) {
    context.out << ToJsonLine(report);
  } else if (!report.has_round()) {
    context.out << "there was no round of updates since the node started\n";
  } else {
    context.out << fmt::format("round {}{}, measured on {} lesson(s) of this node\n\n",
                               report.round().round(),
                               report.round().unfinished() ? " (another one is running)" : "",
                               report.round().judges())
                << BankTable(report.round()) << "\n"
                << PeerTable(report);
  }
  return absl::OkStatus();
}

}  // namespace

void AddRoundVerb(VerbTable& verbs) {
  verbs.Add("round", "Cluster", "Show the last round of shared updates: every bank and update",
            ShowRound);
}

}  // namespace ruvd::cli
