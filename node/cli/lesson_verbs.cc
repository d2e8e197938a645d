// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ruvd learn sources`, `lessons` and `withdraw`: the lessons of a person's texts.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "base/utf8.h"
#include "node/cli/sharing_tier.h"
#include "node/cli/verbs.h"
#include "node/client/client.h"
#include "node/client/pages.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::cli {
namespace {

constexpr char kLearningGroup[] = "Learning";

std::string TierOf(privacy::v1::SharingTier tier) {
  return tier == privacy::v1::SHARING_TIER_UNSPECIFIED ? "by consent" : TierLabel(tier);
}

absl::Status Sources(CommandContext& context) {
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(auto all, client::AllPages<learning::v1::ListLessonSourcesResponse>(
                                 client, learning::v1::ListLessonSourcesRequest()));
  std::ranges::sort(*all.mutable_sources(), {}, [](const learning::v1::LessonSource& source) {
    return std::tuple(source.create_time().seconds(), source.create_time().nanos(), source.name());
  });
  if (context.json) {
    context.out << ToJsonLine(all);
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> rows;
  for (const learning::v1::LessonSource& source : all.sources()) {
    rows.push_back({source.source_id(), PrintableLine(source.name()),
                    fmt::format("{}", source.lessons()), PrintableLine(source.user_id()),
                    TierOf(source.tier()), FormatTime(source.create_time()),
                    source.complete() ? "" : "incomplete: add it again"});
  }
  context.out << FormatTable({"SOURCE", "NAME", "LESSONS", "USER", "TIER", "ADDED (UTC)", ""},
                             rows);
  return absl::OkStatus();
}

struct LessonsFlags {
  std::string source;
  std::optional<std::string> user;
};

std::vector<std::string> RowOf(const learning::v1::TextLesson& lesson) {
  constexpr size_t kShown = 60;
  const std::string text = PrintableLine(lesson.text());
  return {lesson.lesson_id(), lesson.source_id(), PrintableLine(lesson.user_id()),
          std::string(CutUtf8(text, kShown)) + (text.size() > kShown ? "..." : "")};
}

absl::Status Lessons(CommandContext& context, const LessonsFlags& flags) {
  client::NodeClient client(context.server, context.credentials);
  learning::v1::ListTextLessonsRequest request;
  request.set_source_id(flags.source);
  if (flags.user) {
    request.set_user_id(*flags.user);
  }
  std::vector<std::vector<std::string>> rows;
  RETURN_IF_ERROR(client::ForEachPage<learning::v1::ListTextLessonsResponse>(
      client, request, [&](const learning::v1::ListTextLessonsResponse& page) {
        for (const learning::v1::TextLesson& lesson : page.lessons()) {
          if (context.json) {
            context.out << ToJsonLine(lesson);
          } else {
            rows.push_back(RowOf(lesson));
          }
        }
        return absl::OkStatus();
      }));
  if (!context.json) {
    context.out << FormatTable({"LESSON", "SOURCE", "USER", "TEXT"}, rows);
  }
  return absl::OkStatus();
}

struct WithdrawFlags {
  std::string source;
  std::string lesson;
  std::optional<std::string> user;
};

absl::Status Withdraw(CommandContext& context, const WithdrawFlags& flags) {
  const int given = (flags.source.empty() ? 0 : 1) + (flags.lesson.empty() ? 0 : 1) +
                    (flags.user.has_value() ? 1 : 0);
  if (given != 1) {
    return UsageError(
        "say which lessons: --source or --lesson with an id of `ruvd learn sources` or `ruvd learn "
        "lessons`, or --user (\"\" means lessons without a user)");
  }
  learning::v1::WithdrawLessonsRequest request;
  if (!flags.source.empty()) {
    request.set_source_id(flags.source);
  } else if (!flags.lesson.empty()) {
    request.set_lesson_id(flags.lesson);
  } else {
    request.set_user_id(*flags.user);
  }
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response,
                   client.Call<learning::v1::WithdrawLessonsResponse>(request));
  context.out << (context.json
                      ? ToJsonLine(response)
                      : fmt::format("{} lesson(s) of {} source(s) are withdrawn: no later round "
                                    "learns them. An adapter that learned them stays until it is "
                                    "undone (`ruvd undo`)\n",
                                    response.lessons(), response.sources()));
  return absl::OkStatus();
}

}  // namespace

void AddLessonVerbs(VerbTable& verbs) {
  verbs.Add("learn sources", kLearningGroup, "List the texts that `learn add` gave the node",
            [](CommandContext& c) { return Sources(c); });
  auto lessons = std::make_shared<LessonsFlags>();
  Verb list =
      verbs.Add("learn lessons", kLearningGroup, "List the lessons that texts were cut into",
                [lessons](CommandContext& c) { return Lessons(c, *lessons); });
  list.Option("--source", lessons->source, "Only lessons of this source");
  list.Option("--user", lessons->user,
              "Only lessons of this user; \"\" means those without a user");
  auto withdraw = std::make_shared<WithdrawFlags>();
  Verb remove = verbs.Add("learn withdraw", kLearningGroup,
                          "Withdraw lessons from texts: of a source, of a user, or one",
                          [withdraw](CommandContext& c) { return Withdraw(c, *withdraw); });
  remove.Option("--source", withdraw->source, "Withdraw all lessons of this source");
  remove.Option("--lesson", withdraw->lesson, "Withdraw this lesson");
  remove.Option("--user", withdraw->user,
                "Withdraw all lessons of this user; \"\" means those without a user");
}

}  // namespace ruvd::cli
