// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The private part of the tour, on a cluster of four other nodes: each has texts of its own, and
// all learn one adapter from a sum under noise, of which no node sees the others' part.

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <thread>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/config/config.h"
#include "node/local/demo/run_verb.h"
#include "node/local/tour/tour.h"
#include "node/process/privacy_counter.h"
#include "privacy/ledger/unit_budget.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "ruvd/node/v1/node.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

using node::v1::GetStatusResponse;

constexpr size_t kNodes = kNoteSites;  // the least that a masked sum may have
constexpr size_t kTaughtNotes = 400;
constexpr size_t kHeldOutNotes = 10;
constexpr uint32_t kMasks = 16;  // that the score of a note averages
constexpr uint64_t kFirstMask = 7'000;
constexpr std::chrono::milliseconds kAskEvery(200);
constexpr std::chrono::seconds kTogether(60);
constexpr uint64_t kRounds = 6;
// Seconds of a round. Learning has low priority, so a busy machine may need longer rounds than
// those of the demo, which are the first here. Missed rounds cost nothing.
constexpr std::array<int, 3> kRoundSeconds = {10, 30, 60};
// A node that gave less than two shares in the first rounds is too slow for rounds of this length.
constexpr uint64_t kFirstRounds = 6;
constexpr uint64_t kMostRounds = 24;
// A round that ends without its sum after the nodes were charged is lost to them.
constexpr uint64_t kLostRounds = 2;

struct Setting {
  std::string key;
  std::string value;
  std::string_view why;
};

// Everything else is what `ruvd demo` sets or what a node does by default.
std::vector<Setting> SettingsOfPrivateNodes() {
  return {
      {"federation.contributions", "gradient", "noise hides a note in a sum of clipped gradients"},
      {"federation.rank", "4", "so few notes are heard above the noise of few values only"},
      {"privacy.rounds", std::to_string(kRounds), "a note's epsilon lasts for this tour only"},
      {"privacy.noise", "0.65", "a round then samples few notes, so that two cores keep up"},
  };
}

const config::NodeConfig& Defaults() {
  static const config::NodeConfig defaults;
  return defaults;
}

// Calls `of` for each node at the same time, and returns the first error by node.
absl::Status OnAllNodes(Tour& tour, const std::function<absl::Status(size_t node)>& of) {
  std::vector<absl::Status> results(tour.clients.size());
  ThreadParallelRunner runner(static_cast<int>(results.size()));
  runner.For(results.size(), 1, [&](size_t begin, size_t end) {
    for (size_t node = begin; node < end; ++node) {
      results[node] = Annotate(of(node), "node " + tour.node(node).name);
    }
  });
  for (const absl::Status& result : results) {
    RETURN_IF_ERROR(result);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<GetStatusResponse>> StatusOfAll(Tour& tour) {
  std::vector<GetStatusResponse> all;
  for (const auto& client : tour.clients) {
    ASSIGN_OR_RETURN(all.emplace_back(),
                     client->Call<GetStatusResponse>(node::v1::GetStatusRequest()));
  }
  return all;
}

absl::Status Start(Tour& tour, int round_seconds) {
  tour.clients.clear();
  tour.cluster.reset();  // nodes of other parts have stopped
  std::vector<std::pair<std::string, std::string>> settings = {
      {"federation.round_seconds", std::to_string(round_seconds)}};
  for (const Setting& setting : SettingsOfPrivateNodes()) {
    settings.emplace_back(setting.key, setting.value);
  }
  ASSIGN_OR_RETURN(tour.cluster, DemoCluster::Start({.nodes = kNodes,
                                                     .model = tour.private_model,
                                                     .environment = tour.environment,
                                                     .program = tour.program,
                                                     .settings = settings}));
  for (const DemoNode& node : tour.cluster->nodes()) {
    tour.clients.push_back(std::make_unique<client::NodeClient>(node.api));
  }
  return WaitUntil("all four members alive on each node", kTogether,
                   [&]() -> absl::StatusOr<bool> {
                     ASSIGN_OR_RETURN(const auto all, StatusOfAll(tour));
                     return std::ranges::all_of(all, [](const GetStatusResponse& status) {
                       return status.cluster().members_alive() == kNodes;
                     });
                   })
      .status();
}

absl::Status Teach(Tour& tour) {
  for (size_t node = 0; node < kNodes; ++node) {
    const std::string lines = JsonLinesOf(tour.notes[node].taught);
    learning::v1::LessonFile file;
    file.set_name(tour.notes[node].site + ".jsonl");
    file.set_bytes(lines.size());
    ASSIGN_OR_RETURN(const auto added, tour.clients[node]->AddLessons(file, lines));
    if (added.added() != kTaughtNotes) {
      return Unexpected(fmt::format("node {} stored {} lessons of {} notes", tour.node(node).name,
                                    added.added(), kTaughtNotes));
    }
  }
  return absl::OkStatus();
}

absl::Status Consent(Tour& tour) {
  privacy::v1::SetConsentRequest request;
  request.set_tier(privacy::v1::SHARING_TIER_MASKED);
  for (const auto& client : tour.clients) {
    RETURN_IF_ERROR(client->Call<privacy::v1::SetConsentResponse>(request).status());
  }
  ASSIGN_OR_RETURN(const auto all, StatusOfAll(tour));
  tour.first_round = all.front().rounds().round();
  return absl::OkStatus();
}

absl::StatusOr<std::string> StartFour(Tour& tour) {
  RETURN_IF_ERROR(Start(tour, kRoundSeconds.front()));
  const std::vector<Setting> different = SettingsOfPrivateNodes();
  std::string report;
  for (const Setting& setting : different) {
    report += fmt::format("\n     {}={}: {}", setting.key, setting.value, setting.why);
  }
  return fmt::format("they serve {} and differ from the demo in {} keys:{}",
                     std::filesystem::path(tour.private_model).filename().string(),
                     different.size(), report);
}

absl::StatusOr<std::string> AddNotes(Tour& tour) {
  tour.notes.clear();
  std::string report;
  for (size_t node = 0; node < kNodes; ++node) {
    tour.notes.push_back(NotesOf(node, kTaughtNotes, kHeldOutNotes));
    report += fmt::format("{}{} has {} made-up notes of the {}", report.empty() ? "" : ", ",
                          tour.node(node).name, kTaughtNotes, tour.notes.back().site);
  }
  RETURN_IF_ERROR(Teach(tour));
  return report + fmt::format("; the first is \"{}\"", tour.notes.front().taught.front().Text());
}

absl::StatusOr<double> LossOf(client::NodeClient& client, const SiteNote& note, uint64_t seed) {
  inference::v1::ScoreRequest request;
  request.set_prompt(note.head);
  request.set_completion(note.rest);
  request.set_mode(inference::v1::DECODING_MODE_DIFFUSION);
  request.set_seed(seed);
  request.set_samples(kMasks);
  // A node's own notes help it read those of others; only what rounds bring counts here.
  request.set_without_memory(true);
  ASSIGN_OR_RETURN(const auto response, client.Call<inference::v1::ScoreResponse>(request));
  return response.nats_per_token();
}

// Measures what each node loses on the held-out notes of the other nodes, as it serves now.
absl::StatusOr<NoteLosses> LossesOnOthers(Tour& tour) {
  NoteLosses losses(kNodes, std::vector<std::vector<double>>(kNodes));
  RETURN_IF_ERROR(OnAllNodes(tour, [&](size_t node) -> absl::Status {
    for (size_t site = 0; site < kNodes; ++site) {
      if (site == node) {
        continue;
      }
      for (size_t note = 0; note < kHeldOutNotes; ++note) {
        ASSIGN_OR_RETURN(losses[node][site].emplace_back(),
                         LossOf(*tour.clients[node], tour.notes[site].held_out[note],
                                kFirstMask + site * kHeldOutNotes + note));
      }
    }
    return absl::OkStatus();
  }));
  return losses;
}

absl::StatusOr<std::string> MeasureBefore(Tour& tour) {
  ASSIGN_OR_RETURN(tour.losses_before, LossesOnOthers(tour));
  return fmt::format("each node scored {} notes of the other three; no node is taught them",
                     (kNodes - 1) * kHeldOutNotes);
}

absl::StatusOr<std::string> ConsentToMasked(Tour& tour) {
  RETURN_IF_ERROR(Consent(tour));
  return std::string("each node may give its share of a sum, and nothing else");
}

// Whether the notes have had all their rounds. Without one of its members no sum comes about, so
// the nodes are done when the first of them is.
bool Done(const std::vector<GetStatusResponse>& all) {
  const auto [least, most] = std::ranges::minmax(
      all, {}, [](const GetStatusResponse& status) { return status.release().releases(); });
  return most.release().releases() >= kRounds &&
         least.release().releases() + kLostRounds >= kRounds;
}

// Waits until the notes have had all their rounds. Returns the status of a, or nullopt if rounds
// are too short for this machine.
absl::StatusOr<std::optional<GetStatusResponse>> AwaitShares(Tour& tour) {
  for (;;) {
    ASSIGN_OR_RETURN(const auto all, StatusOfAll(tour));
    const GetStatusResponse& first = all.front();
    if (Done(all)) {
      return first;
    }
    const uint64_t passed = first.rounds().round() - tour.first_round;
    if (passed > kMostRounds || (passed > kFirstRounds && first.release().releases() < 2)) {
      return std::nullopt;
    }
    std::this_thread::sleep_for(kAskEvery);
  }
}

absl::StatusOr<std::string> RunRounds(Tour& tour) {
  for (const int seconds : kRoundSeconds) {
    if (seconds != kRoundSeconds.front()) {
      // Shorter rounds were too short; the nodes say so themselves. All begin anew.
      RETURN_IF_ERROR(Start(tour, seconds));
      RETURN_IF_ERROR(Teach(tour));
      RETURN_IF_ERROR(Consent(tour));
    }
    ASSIGN_OR_RETURN(const std::optional<GetStatusResponse> a, AwaitShares(tour));
    if (a) {
      return fmt::format(
          "a gave {} shares to sums of {} nodes within {} rounds of {} s; the noise of a sum is "
          "{:.2f} times the most that one note can add to it",
          a->release().releases(), a->rounds().last_members(),
          a->rounds().round() - tour.first_round, seconds, a->release().noise_multiplier());
    }
  }
  return Unexpected(
      fmt::format("this machine is too busy: even in rounds of {} s the nodes did not "
                  "compute their gradients in time; free its cores",
                  kRoundSeconds.back()));
}

// Whether all nodes hold one state, serve one version of it or hold it back, and gave nothing new.
bool Settled(const std::vector<GetStatusResponse>& all) {
  std::set<std::string> states;
  uint64_t last = 0;
  uint32_t version = 0;
  for (const GetStatusResponse& status : all) {
    states.insert(status.rounds().state_digest());
    last = std::max(last, status.rounds().last_round());
    version = std::max(version, status.rounds().served_version());
  }
  return states.size() == 1 && std::ranges::all_of(all, [&](const GetStatusResponse& status) {
           const auto& rounds = status.rounds();
           return rounds.round() >= last + 2 &&
                  (rounds.held_back() || rounds.served_version() == version);
         });
}

absl::StatusOr<std::string> AgreeOnState(Tour& tour) {
  std::vector<GetStatusResponse> all;
  ASSIGN_OR_RETURN(all, StatusOfAll(tour));
  const uint64_t begin = all.front().rounds().round();
  while (!Settled(all)) {
    if (all.front().rounds().round() > begin + kMostRounds) {
      std::string states;
      for (const GetStatusResponse& status : all) {
        states += fmt::format(" {} {}@{}", status.node().name(), status.rounds().state_digest(),
                              status.rounds().served_version());
      }
      return Unexpected("the nodes hold different states:" + states);
    }
    std::this_thread::sleep_for(kAskEvery);
    ASSIGN_OR_RETURN(all, StatusOfAll(tour));
  }
  const auto& rounds = all.front().rounds();
  return fmt::format(
      "SHA-256 {}..., served as version {}; general text {:.4f} to {:.4f} nats/token",
      rounds.state_digest().substr(0, 16), rounds.served_version(), rounds.general_before(),
      rounds.general_after());
}

absl::StatusOr<std::string> LossOfOthersFell(Tour& tour) {
  ASSIGN_OR_RETURN(const NoteLosses after, LossesOnOthers(tour));
  ASSIGN_OR_RETURN(const GainOnOthers gain, RequireGain(tour.losses_before, after));
  return fmt::format(
      "{:.4f} before, {:.4f} now; gain {:.4f} nats/token (standard error {:.4f} over {} notes)",
      gain.before, gain.after, gain.gain, gain.standard_error, gain.notes);
}

// Exports the ledger of a stopped node and checks the file, as anyone can who gets it. Returns what
// one note has spent.
absl::StatusOr<double> VerifyLedger(const Tour& tour, const DemoNode& node) {
  const std::filesystem::path folder = tour.cluster->folder();
  const std::string file = folder / (node.name + ".ledger");
  const auto call = [&](std::vector<std::string> arguments) {
    return RunVerb({.program = tour.cluster->program(),
                    .arguments = std::move(arguments),
                    .log_file = node.log_file});
  };
  RETURN_IF_ERROR(
      call({"privacy", "export", "--config", node.config_file, "--out", file}).status());
  config::NodeConfig config;
  config.node.data_dir = node.data_dir;
  const auto& privacy = Defaults().privacy;
  ASSIGN_OR_RETURN(
      const std::string line,
      call({"privacy", "verify", file, "--key", node.id, "--counter",
            node::PrivacyCounterFileOf(config), "--lesson-epsilon",
            fmt::format("{}", privacy.epsilon), "--delta", fmt::format("{}", privacy.delta)}));
  report::v1::LedgerFileReport report;
  if (!google::protobuf::util::JsonStringToMessage(line, &report).ok() || !report.ok()) {
    return Unexpected(fmt::format("privacy verify says of {}: {}", node.name, line));
  }
  const auto lesson =
      std::ranges::find(report.units(), privacy::UnitName(privacy::PrivacyUnit::kLesson),
                        &report::v1::UnitAccount::unit);
  return lesson == report.units().end() ? 0 : lesson->epsilon();
}

absl::StatusOr<std::string> LedgersVerify(Tour& tour) {
  RETURN_IF_ERROR(tour.cluster->StopAll());
  const double budget = double{Defaults().privacy.epsilon};
  std::string report;
  for (const DemoNode& node : tour.cluster->nodes()) {
    ASSIGN_OR_RETURN(const double epsilon, VerifyLedger(tour, node));
    if (!(epsilon > 0 && epsilon <= budget)) {
      return Unexpected(
          fmt::format("a note of {} has spent epsilon {:.3f} of {:g}", node.name, epsilon, budget));
    }
    report += fmt::format("{}{} {:.3f}", report.empty() ? "" : ", ", node.name, epsilon);
  }
  return fmt::format(
      "each is complete and signed; epsilon that a note has spent: {} (budget {:g} at "
      "delta {:g})",
      report, budget, Defaults().privacy.delta);
}

const TourStep kPrivateSteps[] = {
    {"start four nodes that learn under noise", StartFour},
    {"each node gets texts of its own", AddNotes},
    {"measure the other nodes' held-out texts", MeasureBefore},
    {"consent on all four, tier masked", ConsentToMasked},
    {"private rounds: the nodes learn from sums under masks and noise", RunRounds},
    {"all nodes hold one state", AgreeOnState},
    {"the loss of the other nodes' texts fell", LossOfOthersFell},
    {"SIGTERM to all four; their privacy ledgers verify offline", LedgersVerify},
};

}  // namespace

std::span<const TourStep> PrivateSteps() {
  return kPrivateSteps;
}

}  // namespace ruvd::cli
