// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ruvd learn add`, `sources`, `lessons` and `withdraw`: lessons from a person's texts.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "base/utf8.h"
#include "node/cli/sharing_tier.h"
#include "node/cli/verbs.h"
#include "node/client/client.h"
#include "node/lesson_files.h"
#include "node/limits.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

using learning::v1::LessonFile;
using report::v1::AddLessonsReport;

constexpr char kLearningGroup[] = "Learning";

struct AddFlags {
  std::vector<std::string> paths;
  std::string user;
  std::string tier;
  std::string format;
};

// A file to send, and the name that its source gets.
struct FoundFile {
  std::string path;
  std::string name;
};

absl::Status CannotList(const std::filesystem::path& path, const std::error_code& error) {
  return Error(absl::StatusCode::kNotFound, reasons::kFileUnreadable, "{} cannot be listed: {}",
               path.string(), error.message());
}

bool IsHidden(const std::filesystem::path& path) {
  return path.filename().string().starts_with('.');
}

// Adds the texts of a folder and of the folders in it, in the order of their names. Hidden files,
// links, and files of other kinds or without an ending are left out; `skipped` counts all of these
// but the hidden ones.
absl::Status FindFiles(const std::filesystem::path& folder, std::vector<FoundFile>* files,
                       uint64_t* skipped) {
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(folder, error);
  std::vector<FoundFile> found;
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    const std::filesystem::path& path = at->path();
    if (IsHidden(path)) {
      at.disable_recursion_pending();
    } else if (std::error_code unknown; at->is_directory(unknown)) {
      continue;
    } else if (at->is_symlink(unknown) || !at->is_regular_file(unknown) || !path.has_extension() ||
               !LessonFormatOf(path.string())) {
      ++*skipped;
    } else {
      found.push_back({.path = path.string(), .name = path.lexically_relative(folder).string()});
    }
  }
  if (error) {
    return CannotList(folder, error);
  }
  std::ranges::sort(found, {}, &FoundFile::path);
  std::ranges::move(found, std::back_inserter(*files));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FoundFile>> FilesOf(const std::vector<std::string>& paths,
                                               uint64_t* skipped) {
  std::vector<FoundFile> files;
  for (const std::string& path : paths) {
    std::error_code error;  // reading a path that cannot be looked at says why
    if (std::filesystem::is_directory(path, error)) {
      RETURN_IF_ERROR(FindFiles(path, &files, skipped));
    } else {
      files.push_back({.path = path, .name = std::filesystem::path(path).filename().string()});
    }
  }
  if (files.empty()) {
    return Error(absl::StatusCode::kNotFound, reasons::kFileNotFound,
                 "there is no text in {}; a folder may hold {}", paths.front(), kLessonFileNames);
  }
  return files;
}

absl::StatusOr<LessonFile> FileOf(const AddFlags& flags) {
  static const auto* const formats =
      new std::map<std::string, LessonFile::Format>{{"", LessonFile::FORMAT_BY_NAME},
                                                    {"text", LessonFile::FORMAT_PLAIN_TEXT},
                                                    {"markdown", LessonFile::FORMAT_MARKDOWN},
                                                    {"jsonl", LessonFile::FORMAT_JSON_LINES}};
  LessonFile file;
  file.set_user_id(flags.user);
  file.set_format(formats->at(flags.format));
  if (!flags.tier.empty()) {
    const std::optional<pattern::v1::SharingTier> tier = ParseTier(flags.tier);
    if (!tier) {
      return UsageError(fmt::format("--tier {} is not known; use private, masked, dp or public",
                                    PrintableLine(flags.tier)));
    }
    file.set_tier(*tier);
  }
  return file;
}

absl::Status SendFile(client::NodeClient& client, const FoundFile& found, LessonFile file,
                      AddLessonsReport::File* report) {
  report->set_name(found.name);
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(found.path, limits::kMaxLessonFileBytes));
  file.set_name(ValidUtf8(found.name));
  file.set_bytes(bytes.size());
  ASSIGN_OR_RETURN(*report->mutable_result(), client.AddLessons(file, bytes));
  return absl::OkStatus();
}

// Returns whether trying the other files makes no sense after this error.
bool EndsAll(const absl::Status& status) {
  const std::string_view reason = ReasonOf(status);
  return reason == reasons::kNodeUnreachable || absl::IsPermissionDenied(status) ||
         absl::IsUnauthenticated(status) || absl::IsUnimplemented(status);
}

std::string TableOf(const AddLessonsReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const AddLessonsReport::File& file : report.files()) {
    const auto& result = file.result();
    rows.push_back({PrintableLine(file.name()),
                    file.error().empty() ? fmt::format("{}", result.added()) : "-",
                    file.error().empty() ? fmt::format("{}", result.duplicates()) : "-",
                    file.error().empty() ? fmt::format("{}", result.too_short()) : "-",
                    file.error().empty() ? result.source_id() : PrintableLine(file.error())});
  }
  return FormatTable({"FILE", "ADDED", "HAD", "TOO SHORT", "SOURCE"}, rows);
}

absl::Status Add(CommandContext& context, const AddFlags& flags) {
  AddLessonsReport report;
  uint64_t skipped = 0;
  ASSIGN_OR_RETURN(const std::vector<FoundFile> files, FilesOf(flags.paths, &skipped));
  ASSIGN_OR_RETURN(const LessonFile file, FileOf(flags));
  report.set_skipped(skipped);
  client::NodeClient client(context.server, context.credentials);
  client.set_timeout(std::chrono::minutes(30));  // a large file waits for others, and is cut
  absl::Status first;
  for (const FoundFile& found : files) {
    AddLessonsReport::File* entry = report.add_files();
    const absl::Status status = SendFile(client, found, file, entry);
    if (!status.ok() && EndsAll(status)) {
      context.out << (context.json ? ToJsonLine(report) : TableOf(report));
      return status;
    }
    if (!status.ok()) {
      entry->set_error(std::string(MessageOf(status)));
      entry->set_reason(std::string(ReasonOf(status)));
      report.set_refused(report.refused() + 1);
      first = first.ok() ? Annotate(status, found.name) : first;
    }
    report.set_added(report.added() + entry->result().added());
    report.set_duplicates(report.duplicates() + entry->result().duplicates());
    report.set_stored(std::max(report.stored(), entry->result().stored()));
  }
  if (context.json) {
    context.out << ToJsonLine(report);
  } else {
    context.out << TableOf(report)
                << fmt::format(
                       "{} lesson(s) added, {} in all; the next deep round learns them "
                       "(`ruvd learn run-deep` starts one)\n",
                       report.added(), report.stored());
    if (skipped > 0) {
      context.out << fmt::format("{} file(s) of other kinds were left out; texts are {}\n", skipped,
                                 kLessonFileNames);
    }
  }
  return first;
}

std::string TierOf(pattern::v1::SharingTier tier) {
  return tier == pattern::v1::SHARING_TIER_UNSPECIFIED ? "by consent" : TierLabel(tier);
}

absl::Status Sources(CommandContext& context) {
  client::NodeClient client(context.server, context.credentials);
  learning::v1::ListLessonSourcesRequest request;
  learning::v1::ListLessonSourcesResponse all;
  do {
    ASSIGN_OR_RETURN(auto page, client.Call<learning::v1::ListLessonSourcesResponse>(request));
    all.mutable_sources()->MergeFrom(page.sources());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  std::ranges::sort(*all.mutable_sources(), {}, [](const learning::v1::LessonSource& source) {
    return std::pair(source.created_ms(), source.name());
  });
  if (context.json) {
    context.out << ToJsonLine(all);
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> rows;
  for (const learning::v1::LessonSource& source : all.sources()) {
    rows.push_back({source.source_id(), PrintableLine(source.name()),
                    fmt::format("{}", source.lessons()), PrintableLine(source.user_id()),
                    TierOf(source.tier()), FormatTime(source.created_ms()),
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

absl::Status Lessons(CommandContext& context, const LessonsFlags& flags) {
  client::NodeClient client(context.server, context.credentials);
  learning::v1::ListTextLessonsRequest request;
  request.set_source_id(flags.source);
  if (flags.user) {
    request.set_user_id(*flags.user);
  }
  std::vector<std::vector<std::string>> rows;
  do {
    ASSIGN_OR_RETURN(const auto page, client.Call<learning::v1::ListTextLessonsResponse>(request));
    for (const learning::v1::TextLesson& lesson : page.lessons()) {
      if (context.json) {
        context.out << ToJsonLine(lesson);
        continue;
      }
      constexpr size_t kShown = 60;
      const std::string text = PrintableLine(lesson.text());
      rows.push_back({lesson.lesson_id(), lesson.source_id(), PrintableLine(lesson.user_id()),
                      std::string(CutUtf8(text, kShown)) + (text.size() > kShown ? "..." : "")});
    }
    request.set_from(page.next());
  } while (request.from() != 0);
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

void AddAddVerb(VerbTable& verbs) {
  auto flags = std::make_shared<AddFlags>();
  Verb add = verbs.Add("learn add", kLearningGroup,
                       "Give the node texts to learn from: files, or folders of files",
                       [flags](CommandContext& c) { return Add(c, *flags); });
  add.Option("path", flags->paths, "Files or folders: plain text, Markdown or JSON Lines")
      .Required();
  add.Option("--user", flags->user,
             "The person whose texts they are; erasing the user erases them");
  add.Option("--tier", flags->tier,
             "The most that may leave the node of what is learned: private, masked, dp or public. "
             "It is kept with the lessons; nothing learned from texts leaves the node yet");
  add.Option("--as", flags->format,
             "Read the files as text, markdown or jsonl, whatever their name")
      .OneOf({"text", "markdown", "jsonl"});
}

}  // namespace

void AddLessonVerbs(VerbTable& verbs) {
  AddAddVerb(verbs);
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
