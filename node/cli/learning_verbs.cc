// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ruvd undo` and `ruvd learn`: list and undo what learning changed, pause it and start it.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/cli/verbs.h"
#include "node/client/client.h"
#include "node/client/pages.h"
#include "node/terminal/command.h"
#include "node/terminal/enum_name.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/progress_line.h"
#include "node/terminal/terminal.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

using learning::v1::Change;

constexpr char kLearningGroup[] = "Learning";
constexpr uint32_t kMostChanges = 512;  // of a page
constexpr uint32_t kUsualChanges = 50;  // that are listed
constexpr std::chrono::hours kRoundTimeout(12);

// Describes what a change was made to.
std::string SubjectOf(const Change& change) {
  if (change.kind() == learning::v1::CHANGE_KIND_SESSION_TAUGHT) {
    return fmt::format("session {}, {} position(s)", change.session_id(), change.lessons());
  }
  if (change.kind() == learning::v1::CHANGE_KIND_LESSON_REMEMBERED) {
    return fmt::format("the words of {}", fmt::join(change.response_ids(), ", "));
  }
  if (change.kind() == learning::v1::CHANGE_KIND_PATTERNS_MERGED) {
    return fmt::format("pattern {} into {}", change.merged_pattern_id(), change.pattern_id());
  }
  const std::string adapter = fmt::format("{}@{}", change.adapter_name(), change.version());
  return change.pattern_id().empty() ? adapter
                                     : fmt::format("pattern {}: {}", change.pattern_id(), adapter);
}

std::string StateOf(const Change& change) {
  return change.has_undo_time() ? "undone" : change.can_be_undone() ? "stands" : "stays";
}

template <typename Changes>
std::string TableOf(const Changes& changes) {
  std::vector<std::vector<std::string>> rows;
  for (const Change& change : changes) {
    rows.push_back({change.undo_token(), FormatTime(change.create_time()), EnumName(change.loop()),
                    EnumName(change.kind()), StateOf(change), SubjectOf(change)});
  }
  return FormatTable({"TOKEN", "TIME (UTC)", "LOOP", "WHAT", "STATE", "OF"}, rows);
}

// Returns the token of the newest change that can be undone.
absl::StatusOr<std::string> NewestChange(client::NodeClient& client) {
  learning::v1::ListChangesRequest request;
  request.set_page_size(kMostChanges);
  ASSIGN_OR_RETURN(const auto response, client.Call<learning::v1::ListChangesResponse>(request));
  const auto newest = std::ranges::find_if(response.changes(), &Change::can_be_undone);
  if (newest == response.changes().end()) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                 "no change that the node lists can be undone; `ruvd learn changes` shows them");
  }
  return newest->undo_token();
}

absl::Status Undo(CommandContext& context, const std::string& token, bool last) {
  if (token.empty() != last) {
    return UsageError(
        "name the change to undo: give the token that `ruvd rate` and `ruvd learn changes` show, "
        "or --last");
  }
  learning::v1::UndoRequest request;
  request.set_undo_token(token);
  client::NodeClient client(context.server, context.credentials);
  if (last) {
    ASSIGN_OR_RETURN(*request.mutable_undo_token(), NewestChange(client));
  }
  ASSIGN_OR_RETURN(const auto response, client.Call<learning::v1::UndoResponse>(request));
  const Change& change = response.change();
  context.out << (context.json
                      ? ToJsonLine(response)
                      : fmt::format("undone: {} ({}, {})\n", PrintableLine(change.undo_token()),
                                    EnumName(change.kind()), PrintableLine(SubjectOf(change))));
  return absl::OkStatus();
}

absl::Status Changes(CommandContext& context, uint32_t count) {
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client::FirstItems<learning::v1::ListChangesResponse>(
                                            client, learning::v1::ListChangesRequest(),
                                            count == 0 ? kUsualChanges : count,
                                            &learning::v1::ListChangesResponse::changes_size));
  context.out << (context.json ? ToJsonLine(response) : TableOf(response.changes()));
  return absl::OkStatus();
}

std::string DeepState(const learning::v1::DeepStatus& deep) {
  const std::string served =
      deep.served_version() == 0 ? "none served" : fmt::format("deep@{}", deep.served_version());
  return deep.running() ? fmt::format("step {} of {}, {}", deep.step(), deep.steps(), served)
                        : served;
}

std::string RouterState(const learning::v1::RouterStatus& router) {
  if (router.kind().empty()) {
    return "off (experimental.router)";
  }
  const std::string chooses =
      router.version() == 0
          ? "nothing learned, explores"
          : fmt::format("router@{} of {} outcome(s)", router.version(), router.outcomes());
  const std::string last =
      router.last_verdict() == learning::v1::ROUTER_VERDICT_UNSPECIFIED
          ? ""
          : fmt::format("; last training: {} of {} outcome(s), gain {:.3f} (standard error {:.3f})",
                        EnumName(router.last_verdict()), router.last_outcomes(), router.last_gain(),
                        router.last_standard_error());
  return fmt::format("{}, {}, {} new outcome(s){}", PrintableLine(router.kind()), chooses,
                     router.waiting(), last);
}

std::string Describe(const learning::v1::LearningStatus& status) {
  const std::string state = !status.enabled()        ? "off (learning.enabled)"
                            : status.paused()        ? "paused"
                            : status.round_running() ? "a round runs"
                                                     : "waits for feedback";
  constexpr uint64_t kMiB = 1 << 20;
  return fmt::format(
      "learning: {}\nlessons waiting: {}\nrounds since the start: {}\nchanges listed: {}\n"
      "slowest steps (p99): {:.1f} ms beside learning, {:.1f} ms without (0: too few)\n"
      "waited for serving: {} time(s), {:.1f} s\nmemory of training: {} of {} MiB\n"
      "deep loop: {}\nrouter: {}\n",
      state, status.lessons_waiting(), status.rounds(), status.changes(),
      MillisOf(status.p99_step_time()), MillisOf(status.p99_step_time_without()), status.pauses(),
      SecondsOf(status.paused_time()), status.training_bytes() / kMiB, status.budget_bytes() / kMiB,
      DeepState(status.deep()), RouterState(status.router()));
}

template <typename Response>
absl::Status SayStatus(CommandContext& context, const absl::StatusOr<Response>& response) {
  RETURN_IF_ERROR(response.status());
  context.out << (context.json ? ToJsonLine(*response) : Describe(response->status()));
  return absl::OkStatus();
}

absl::Status RunBackground(CommandContext& context, bool replay) {
  learning::v1::RunBackgroundRequest request;
  request.set_replay(replay);
  client::NodeClient client(context.server, context.credentials);
  client.set_timeout(kRoundTimeout);
  ProgressLine line(context);
  ASSIGN_OR_RETURN(
      const auto result,
      client.RunBackground(request, [&line](const learning::v1::BackgroundProgress& progress) {
        line.Show(fmt::format("{} lesson(s) wait", progress.lessons_waiting()));
      }));
  line.End();
  if (context.json) {
    context.out << ToJsonLine(result);
    return absl::OkStatus();
  }
  context.out << fmt::format(
      "{} pattern(s) learned, {} without gain, {} failed, {} merged in {:.1f} s; {} lesson(s) "
      "wait\n",
      result.patterns_kept(), result.patterns_without_gain(), result.patterns_failed(),
      result.patterns_merged(), SecondsOf(result.duration()), result.lessons_waiting());
  if (result.changes_size() > 0) {
    context.out << TableOf(result.changes());
  }
  return absl::OkStatus();
}

absl::Status RunDeep(CommandContext& context) {
  client::NodeClient client(context.server, context.credentials);
  client.set_timeout(kRoundTimeout);
  ProgressLine line(context);
  ASSIGN_OR_RETURN(
      const auto result,
      client.RunDeep(
          learning::v1::RunDeepRequest(), [&line](const learning::v1::DeepProgress& progress) {
            line.Show(progress.steps() == 0
                          ? "it begins or is measured"
                          : fmt::format("{} of {} steps", progress.step(), progress.steps()));
          }));
  line.End();
  if (context.json) {
    context.out << ToJsonLine(result);
    return absl::OkStatus();
  }
  if (result.steps() == 0 && result.outcome() == learning::v1::DEEP_OUTCOME_TOO_FEW_LESSONS) {
    context.out << fmt::format(
        "too few lessons: a deep round needs {} completions that were rated well, accepted or "
        "corrected; `ruvd learn export` lists the present ones\n",
        result.least_lessons());
    return absl::OkStatus();
  }
  context.out << fmt::format(
      "{}: {} lesson(s) taught, {} held back, {} steps\n"
      "held-out loss {:.4f} -> {:.4f} nats/token (standard error {:.4f})\n"
      "general text {:.4f} -> {:.4f} nats/token\n",
      EnumName(result.outcome()), result.lessons(), result.held_back_lessons(), result.steps(),
      result.held_out_loss_before(), result.held_out_loss_after(), result.standard_error(),
      result.general_loss_before(), result.general_loss_after());
  if (result.has_change()) {
    context.out << fmt::format("deep@{} is served; undo it with: ruvd undo {}\n", result.version(),
                               PrintableLine(result.change().undo_token()));
  }
  return absl::OkStatus();
}

// Writes one line of JSON for each lesson.
absl::Status Export(CommandContext& context, const std::string& path) {
  client::NodeClient client(context.server, context.credentials);
  std::string lines;
  size_t count = 0;
  RETURN_IF_ERROR(client::ForEachPage<learning::v1::ListLessonsResponse>(
      client, learning::v1::ListLessonsRequest(),
      [&](const learning::v1::ListLessonsResponse& page) {
        for (const auto& lesson : page.lessons()) {
          lines += ToJsonLine(lesson);
          ++count;
        }
        if (path.empty()) {
          context.out << lines;
          lines.clear();
        }
        return absl::OkStatus();
      }));
  if (path.empty()) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(WriteFileAtomically(path, lines, 0600));
  report::v1::LessonFileReport report;
  report.set_lessons(count);
  report.set_file(path);
  context.out << (context.json ? ToJsonLine(report)
                               : fmt::format("{} lesson(s) in {}\n", count, PrintableLine(path)));
  return absl::OkStatus();
}

void AddUndoVerb(VerbTable& verbs) {
  struct Flags {
    std::string token;
    bool last = false;
  };
  auto flags = std::make_shared<Flags>();
  Verb undo = verbs.Add("undo", kLearningGroup, "Undo a change that learning made",
                        [flags](CommandContext& c) { return Undo(c, flags->token, flags->last); });
  undo.Option("token", flags->token, "Undo token, as `ruvd rate` and `ruvd learn changes` show it");
  undo.Switch("--last", flags->last, "Undo the newest change that can be undone");
}

}  // namespace

void AddLearningVerbs(VerbTable& verbs) {
  AddUndoVerb(verbs);
  verbs.Add("learn status", kLearningGroup, "Show what learning is doing", [](CommandContext& c) {
    return SayStatus(c, client::NodeClient(c.server, c.credentials)
                            .Call<learning::v1::GetLearningStatusResponse>(
                                learning::v1::GetLearningStatusRequest()));
  });
  verbs.Add("learn pause", kLearningGroup,
            "Pause all learning until `learn resume`, even after a restart", [](CommandContext& c) {
              return SayStatus(c, client::NodeClient(c.server, c.credentials)
                                      .Call<learning::v1::PauseLearningResponse>(
                                          learning::v1::PauseLearningRequest()));
            });
  verbs.Add("learn resume", kLearningGroup, "Resume learning after `learn pause`",
            [](CommandContext& c) {
              return SayStatus(c, client::NodeClient(c.server, c.credentials)
                                      .Call<learning::v1::ResumeLearningResponse>(
                                          learning::v1::ResumeLearningRequest()));
            });
  verbs.Add("learn run-background", kLearningGroup,
            "Start a background round now, for all waiting lessons",
            [](CommandContext& c) { return RunBackground(c, false); });
  verbs.Add("learn run-deep", kLearningGroup,
            "Start a deep round now, which trains one adapter on all lessons; this takes long",
            [](CommandContext& c) { return RunDeep(c); });
  verbs.Add("learn replay", kLearningGroup, "Learn again from all completions with usable feedback",
            [](CommandContext& c) { return RunBackground(c, true); });
  auto count = std::make_shared<uint32_t>(0);
  verbs
      .Add("learn changes", kLearningGroup, "List the changes that learning made, newest first",
           [count](CommandContext& c) { return Changes(c, *count); })
      .Option("--count", *count, "Most changes to list; default 50");
  auto path = std::make_shared<std::string>();
  verbs
      .Add("learn export", kLearningGroup,
           "Export completions with usable feedback, one line of JSON each",
           [path](CommandContext& c) { return Export(c, *path); })
      .Option("--out", *path, "File to write instead of standard output; it contains users' words");
}

}  // namespace ruvd::cli
