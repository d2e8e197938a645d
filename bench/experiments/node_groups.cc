// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/node_groups.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/folder.h"
#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/terminal/enum_name.h"
#include "node/terminal/output.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "ruvd/node/v1/node.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr seconds kLinkPatience(120);
constexpr seconds kCallPatience(300);
// All nodes of an arm train at the same time, on few cores.
constexpr seconds kDeepPatience(4 * 3600);
constexpr seconds kAskEvery(1);
// A round that a busy machine does not finish in time still counts when it is late.
constexpr uint64_t kLateRounds = 3;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Calls `of` for every index at the same time, and returns the first error by index.
absl::Status AtTheSameTime(size_t count, const std::function<absl::Status(size_t)>& of) {
  std::vector<absl::Status> results(count);
  ThreadParallelRunner runner(static_cast<int>(std::max<size_t>(count, 1)));
  runner.For(count, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      results[i] = of(i);
    }
  });
  for (const absl::Status& result : results) {
    RETURN_IF_ERROR(result);
  }
  return absl::OkStatus();
}

// Asks until `holds` returns true; an error of it ends the wait.
absl::Status Await(const std::string& what, seconds patience,
                   const std::function<absl::StatusOr<bool>()>& holds) {
  const auto begin = Clock::now();
  for (;;) {
    ASSIGN_OR_RETURN(const bool done, holds());
    if (done) {
      return absl::OkStatus();
    }
    if (Clock::now() - begin > patience) {
      return Error(absl::StatusCode::kDeadlineExceeded, reasons::kDeadlineExceeded,
                   "this did not happen within {} s: {}; see the logs (--keep), and give "
                   "--round-seconds more time on a slow machine",
                   patience.count(), what);
    }
    std::this_thread::sleep_for(kAskEvery);
  }
}

absl::StatusOr<node::v1::GetStatusResponse> StatusOf(client::NodeClient& client) {
  return client.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest());
}

// 64-bit numbers are text in the JSON form of a message.
uint64_t NumberIn(const nlohmann::json& json, const char* key) {
  const nlohmann::json value = json.value(key, nlohmann::json());
  if (value.is_string()) {
    return std::strtoull(value.get<std::string>().c_str(), nullptr, 10);
  }
  return value.is_number_unsigned() ? value.get<uint64_t>() : 0;
}

// Reads the rounds from the form that `ruvd status --format json` prints.
absl::StatusOr<RoundsView> RoundsOf(client::NodeClient& client) {
  ASSIGN_OR_RETURN(const node::v1::GetStatusResponse status, StatusOf(client));
  const nlohmann::json all =
      nlohmann::json::parse(cli::ToJsonLine(status), nullptr, /*allow_exceptions=*/false);
  if (!all.is_object() || !all.contains("rounds") || !all["rounds"].is_object()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kProcessFailed,
                 "node {} runs no rounds; name a ruvd that knows federation.contributions with "
                 "--ruvd",
                 status.node().name());
  }
  const nlohmann::json& rounds = all["rounds"];
  return RoundsView{.plan_id = rounds.value("plan_id", ""),
                    .round = NumberIn(rounds, "round"),
                    .state_round = NumberIn(rounds, "state_round"),
                    .state_digest = rounds.value("state_digest", ""),
                    .own_contributions = NumberIn(rounds, "own_contributions"),
                    .last_round = NumberIn(rounds, "last_round"),
                    .last_epsilon = rounds.value("last_epsilon", 0.0),
                    .payload_bytes = static_cast<uint32_t>(NumberIn(rounds, "payload_bytes")),
                    .served_version = static_cast<uint32_t>(NumberIn(rounds, "served_version")),
                    .held_back = rounds.value("held_back", false),
                    .refusal = rounds.value("refusal", "")};
}

absl::StatusOr<uint64_t> BytesSent(client::NodeClient& client) {
  ASSIGN_OR_RETURN(const auto consent,
                   client.Call<privacy::v1::GetConsentResponse>(privacy::v1::GetConsentRequest()));
  return consent.bytes_shared();
}

std::string UserName(size_t user) {
  return fmt::format("user-{}", user);
}

// A seed for each piece, so that equal masks hide it in every arm.
uint64_t MaskSeed(uint64_t seed, size_t text, size_t piece) {
  constexpr uint64_t kTexts = 1'000'003;
  constexpr uint64_t kPieces = 1009;
  return seed * kTexts + text * kPieces + piece + 1;
}

absl::StatusOr<Scores> ScoreText(client::NodeClient& client, const ScoredTexts& text, size_t number,
                                 const GroupOptions& options) {
  Scores scores;
  for (size_t piece = 0; piece < text.pairs.size(); ++piece) {
    inference::v1::ScoreRequest request;
    request.set_prompt(text.pairs[piece].prompt);
    request.set_completion(text.pairs[piece].completion);
    request.set_samples(options.samples);
    request.set_seed(MaskSeed(options.seed, number, piece));
    ASSIGN_OR_RETURN(const auto response, client.Call<inference::v1::ScoreResponse>(request));
    scores.nats.push_back(response.nats_per_token());
  }
  return scores;
}

absl::StatusOr<ArmScores> ScoreNode(client::NodeClient& client, const NodeTexts& texts,
                                    const GroupOptions& options) {
  ArmScores arm;
  for (size_t i = 0; i < texts.held_out.size(); ++i) {
    ASSIGN_OR_RETURN(Scores scores, ScoreText(client, texts.held_out[i], i, options));
    arm.domains.push_back(std::move(scores));
  }
  ASSIGN_OR_RETURN(arm.general, ScoreText(client, texts.general, texts.held_out.size(), options));
  return arm;
}

// Lets every user agree to the tier of the plan, because a node shares nothing of users without it.
absl::Status AskUsers(client::NodeClient& client, const GroupPlan& plan) {
  for (size_t user = 0; user < plan.users; ++user) {
    privacy::v1::SetUserConsentRequest request;
    request.set_user_id(UserName(user));
    request.set_training(true);
    request.set_sharing(true);
    request.set_widest(plan.tier);
    *request.mutable_lifetime() = google::protobuf::util::TimeUtil::HoursToDuration(24);
    RETURN_IF_ERROR(client.Call<privacy::v1::SetUserConsentResponse>(request).status());
  }
  return absl::OkStatus();
}

absl::Status TeachNode(client::NodeClient& client, const std::vector<const LessonTexts*>& lessons,
                       const GroupPlan& plan, uint64_t* stored) {
  size_t files = 0;
  for (const LessonTexts* texts : lessons) {
    for (const LessonUpload& upload : texts->files) {
      learning::v1::LessonFile file;
      file.set_name(upload.name);
      file.set_format(learning::v1::LessonFile::FORMAT_JSON_LINES);
      file.set_bytes(upload.lines.size());
      file.set_tier(plan.tier);
      if (plan.users > 0) {
        file.set_user_id(UserName(files++ % plan.users));
      }
      ASSIGN_OR_RETURN(const auto response, client.AddLessons(file, upload.lines));
      *stored = response.stored();
    }
  }
  return absl::OkStatus();
}

// A group while it runs.
class Group {
 public:
  Group(const GroupPlan& plan, const NodeTexts& texts, const GroupOptions& options)
      : plan_(plan), texts_(texts), options_(options) {}

  absl::Status Start();
  absl::Status Teach();
  absl::Status Consent();
  // Reads the rounds of all nodes; true once those of the plan have passed.
  absl::StatusOr<bool> Passed();
  // Waits until the nodes agree and have judged the last round, or for two rounds.
  absl::Status Settle();
  absl::Status LearnDeepAt(size_t node);
  absl::Status ScoreNodeAt(size_t node);
  absl::Status End();

  size_t size() const { return plan_.names.size(); }
  client::NodeClient& client(size_t node) { return *processes_->nodes()[node].client; }
  GroupResult Take() { return std::move(result_); }

 private:
  absl::StatusOr<std::vector<RoundsView>> Rounds();

  const GroupPlan& plan_;
  const NodeTexts& texts_;
  const GroupOptions& options_;
  std::unique_ptr<NodeProcesses> processes_;
  std::vector<uint64_t> bytes_before_;
  GroupResult result_;
  Clock::time_point begin_ = Clock::now();
};

absl::Status Group::Start() {
  begin_ = Clock::now();
  const std::string folder = (std::filesystem::path(options_.folder) / plan_.name).string();
  RETURN_IF_ERROR(MakeDataFolder(folder));
  ASSIGN_OR_RETURN(processes_, NodeProcesses::Start({.program = options_.program,
                                                     .model = options_.model,
                                                     .folder = folder,
                                                     .names = plan_.names,
                                                     .settings = plan_.settings,
                                                     .liar = plan_.liar}));
  result_.nodes.resize(size());
  result_.members = size();
  RETURN_IF_ERROR(Await(fmt::format("{} members are alive", size()), kLinkPatience,
                        [&]() -> absl::StatusOr<bool> {
                          for (size_t node = 0; node < size(); ++node) {
                            ASSIGN_OR_RETURN(const auto status, StatusOf(client(node)));
                            if (status.cluster().members_alive() < size()) {
                              return false;
                            }
                          }
                          return true;
                        }));
  result_.start_seconds = SecondsSince(begin_);
  return absl::OkStatus();
}

absl::Status Group::Teach() {
  return AtTheSameTime(size(), [&](size_t node) {
    RETURN_IF_ERROR(AskUsers(client(node), plan_));
    return TeachNode(client(node), plan_.lessons[node], plan_, &result_.nodes[node].lessons);
  });
}

absl::Status Group::Consent() {
  privacy::v1::SetConsentRequest request;
  request.set_tier(plan_.tier);
  for (size_t node = 0; node < size(); ++node) {
    RETURN_IF_ERROR(client(node).Call<privacy::v1::SetConsentResponse>(request).status());
    ASSIGN_OR_RETURN(const uint64_t bytes, BytesSent(client(node)));
    bytes_before_.push_back(bytes);
  }
  ASSIGN_OR_RETURN(const std::vector<RoundsView> rounds, Rounds());
  // The round that runs now may have begun without some of the nodes.
  result_.first_round = std::ranges::max(rounds, {}, &RoundsView::round).round + 1;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RoundsView>> Group::Rounds() {
  std::vector<RoundsView> rounds;
  for (size_t node = 0; node < size(); ++node) {
    ASSIGN_OR_RETURN(rounds.emplace_back(), RoundsOf(client(node)));
  }
  return rounds;
}

absl::StatusOr<bool> Group::Passed() {
  ASSIGN_OR_RETURN(const std::vector<RoundsView> rounds, Rounds());
  return RoundsPassed(rounds, result_.first_round, options_.rounds);
}

absl::Status Group::Settle() {
  constexpr int kRounds = 2;
  const auto begin = Clock::now();
  std::vector<RoundsView> rounds;
  bool settled = false;
  do {
    std::this_thread::sleep_for(kAskEvery);
    ASSIGN_OR_RETURN(rounds, Rounds());
    // A question that meets the begin of a round sees two states.
    result_.agreed = result_.agreed || Agree(rounds);
    settled = result_.agreed && AllJudged(rounds, result_.first_round + options_.rounds - 1);
  } while (!settled && Clock::now() - begin < seconds(kRounds * options_.round_seconds));
  for (size_t node = 0; node < size(); ++node) {
    NodeResult& to = result_.nodes[node];
    to.rounds = rounds[node];
    ASSIGN_OR_RETURN(const uint64_t bytes, BytesSent(client(node)));
    to.bytes = bytes - bytes_before_[node];
    result_.last_round = std::max(result_.last_round, to.rounds.round);
  }
  return absl::OkStatus();
}

absl::Status Group::LearnDeepAt(size_t node) {
  client(node).set_timeout(kDeepPatience);
  ASSIGN_OR_RETURN(const learning::v1::DeepResult result,
                   client(node).RunDeep(learning::v1::RunDeepRequest()));
  client(node).set_timeout(kCallPatience);
  result_.nodes[node].deep = cli::EnumName(result.outcome());
  return absl::OkStatus();
}

absl::Status Group::ScoreNodeAt(size_t node) {
  NodeResult& to = result_.nodes[node];
  ASSIGN_OR_RETURN(to.scores, ScoreNode(client(node), texts_, options_));
  ASSIGN_OR_RETURN(const RoundsView after, RoundsOf(client(node)));
  to.served_at_end = after.served_version;
  return absl::OkStatus();
}

absl::Status Group::End() {
  RETURN_IF_ERROR(processes_->StopAll());
  for (size_t node = 0; node < size(); ++node) {
    ASSIGN_OR_RETURN(result_.nodes[node].ledger,
                     processes_->VerifyLedger(processes_->nodes()[node], options_.unit,
                                              options_.unit_epsilon, options_.delta));
  }
  processes_.reset();
  result_.seconds = SecondsSince(begin_);
  return absl::OkStatus();
}

absl::Status ForEach(std::vector<Group>& groups, std::span<const GroupPlan> plans,
                     absl::Status (Group::*step)()) {
  for (size_t i = 0; i < groups.size(); ++i) {
    RETURN_IF_ERROR(Annotate((groups[i].*step)(), plans[i].name));
  }
  return absl::OkStatus();
}

absl::Status AwaitRounds(std::vector<Group>& groups, std::span<const GroupPlan> plans,
                         const GroupOptions& options) {
  const auto patience =
      seconds((options.rounds + kLateRounds + 2) * static_cast<uint64_t>(options.round_seconds)) +
      kLinkPatience;
  for (size_t i = 0; i < groups.size(); ++i) {
    RETURN_IF_ERROR(Annotate(Await(fmt::format("{} rounds pass", options.rounds), patience,
                                   [&] { return groups[i].Passed(); }),
                             plans[i].name));
  }
  return absl::OkStatus();
}

// Takes a step on all nodes of all groups at the same time.
absl::Status ForEachNode(std::vector<Group>& groups, absl::Status (Group::*step)(size_t node)) {
  std::vector<std::pair<Group*, size_t>> nodes;
  for (Group& group : groups) {
    for (size_t node = 0; node < group.size(); ++node) {
      nodes.emplace_back(&group, node);
    }
  }
  return AtTheSameTime(nodes.size(),
                       [&](size_t i) { return (nodes[i].first->*step)(nodes[i].second); });
}

}  // namespace

bool RoundsPassed(std::span<const RoundsView> nodes, uint64_t first, uint64_t rounds) {
  return std::ranges::all_of(nodes, [&](const RoundsView& node) {
    const bool over = node.round >= first + rounds;
    return over &&
           (node.last_round + 1 >= first + rounds || node.round >= first + rounds + kLateRounds);
  });
}

bool Agree(std::span<const RoundsView> nodes) {
  return std::ranges::all_of(nodes, [&](const RoundsView& node) {
    return node.state_round == nodes.front().state_round &&
           node.state_digest == nodes.front().state_digest;
  });
}

bool AllJudged(std::span<const RoundsView> nodes, uint64_t round) {
  return std::ranges::all_of(nodes, [&](const RoundsView& node) {
    return node.held_back || node.served_version >= round;
  });
}

absl::StatusOr<StageResult> RunGroups(const NodeTexts& texts, std::span<const GroupPlan> plans,
                                      const GroupOptions& options, bool score_base) {
  std::vector<Group> groups;
  for (const GroupPlan& plan : plans) {
    groups.emplace_back(plan, texts, options);
  }
  StageResult stage;
  RETURN_IF_ERROR(ForEach(groups, plans, &Group::Start));
  RETURN_IF_ERROR(ForEach(groups, plans, &Group::Teach));
  if (score_base) {
    ASSIGN_OR_RETURN(stage.base, ScoreNode(groups.front().client(0), texts, options));
  }
  RETURN_IF_ERROR(ForEach(groups, plans, &Group::Consent));
  RETURN_IF_ERROR(AwaitRounds(groups, plans, options));
  RETURN_IF_ERROR(ForEach(groups, plans, &Group::Settle));
  if (options.deep) {
    RETURN_IF_ERROR(ForEachNode(groups, &Group::LearnDeepAt));
  }
  RETURN_IF_ERROR(ForEachNode(groups, &Group::ScoreNodeAt));
  RETURN_IF_ERROR(ForEach(groups, plans, &Group::End));
  for (Group& group : groups) {
    stage.groups.push_back(group.Take());
  }
  return stage;
}

}  // namespace ruvd::bench
