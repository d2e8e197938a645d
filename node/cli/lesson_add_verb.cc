// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ruvd learn add`: sends a person's texts, once or as long as a folder is watched.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
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
#include "node/terminal/terminal.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

using learning::v1::LessonFile;
using report::v1::AddLessonsReport;

constexpr char kLearningGroup[] = "Learning";
// A large file waits for others, and is cut.
constexpr std::chrono::minutes kSendLimit(30);
// Seconds between two looks at a watched folder.
constexpr double kLeastWait = 0.1;
constexpr double kUsualWait = 5;
constexpr double kLongestWait = 3600;
constexpr int kMostFiles = 1'000'000'000;  // only catches typing errors

struct AddFlags {
  std::vector<std::string> paths;
  std::string user;
  std::string tier;
  std::string format;
  bool watch = false;
  std::optional<double> every;    // seconds between two looks at the watched folders
  std::optional<uint64_t> count;  // files after which watching stops
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
      new std::map<std::string, LessonFile::Format>{{"", LessonFile::FORMAT_UNSPECIFIED},
                                                    {"text", LessonFile::FORMAT_PLAIN_TEXT},
                                                    {"markdown", LessonFile::FORMAT_MARKDOWN},
                                                    {"jsonl", LessonFile::FORMAT_JSON_LINES}};
  LessonFile file;
  file.set_user_id(flags.user);
  file.set_format(formats->at(flags.format));
  if (!flags.tier.empty()) {
    const std::optional<privacy::v1::SharingTier> tier = ParseTier(flags.tier);
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
  const std::string reason = ReasonOf(status);
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
  client.set_timeout(kSendLimit);
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
                       "(`ruvd learn run-deep` starts one), and so do rounds with peers after "
                       "`ruvd consent grant`\n",
                       report.added(), report.stored());
    if (skipped > 0) {
      context.out << fmt::format("{} file(s) of other kinds were left out; texts are {}\n", skipped,
                                 kLessonFileNames);
    }
  }
  return first;
}

// By what a change of a file is noticed.
struct FileStamp {
  uintmax_t bytes = 0;
  std::filesystem::file_time_type changed;
  bool operator==(const FileStamp&) const = default;
};

// Sends the files of folders as they appear or change. A file is sent once it looks the same in two
// looks, because it may still be written in the first.
class FolderWatch {
 public:
  FolderWatch(CommandContext& context, const AddFlags& flags, LessonFile file)
      : context_(context),
        flags_(flags),
        file_(std::move(file)),
        client_(context.server, context.credentials) {
    client_.set_timeout(kSendLimit);
  }

  // Returns after `count` files, with the error of the first that was refused, or when a watched
  // folder is gone or the node refuses the caller.
  absl::Status Run() {
    for (const std::string& path : flags_.paths) {
      if (std::error_code error; !std::filesystem::is_directory(path, error)) {
        return Error(
            absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
            "{} is not a folder; --watch needs folders, and without it a file is sent once", path);
      }
    }
    while (!IsDone()) {
      RETURN_IF_ERROR(Look());
      if (!IsDone()) {
        std::this_thread::sleep_for(
            std::chrono::duration<double>(flags_.every.value_or(kUsualWait)));
      }
    }
    return first_refusal_;
  }

 private:
  bool IsDone() const { return flags_.count && taken_ >= *flags_.count; }

  absl::Status Look() {
    std::vector<FoundFile> files;
    uint64_t skipped = 0;
    for (const std::string& path : flags_.paths) {
      const absl::Status listed = FindFiles(path, &files, &skipped);
      if (std::error_code error; !std::filesystem::is_directory(path, error)) {
        RETURN_IF_ERROR(listed);
      }
      if (!listed.ok()) {  // a folder in it went away or cannot be read: the next look may
        Warn(listed);
        return absl::OkStatus();
      }
    }
    std::map<std::string, FileStamp> now;
    for (const FoundFile& found : files) {
      std::error_code error;
      const FileStamp stamp{.bytes = std::filesystem::file_size(found.path, error),
                            .changed = std::filesystem::last_write_time(found.path, error)};
      if (!error) {
        now.emplace(found.path, stamp);
      }
    }
    std::erase_if(sent_, [&](const auto& sent) { return !now.contains(sent.first); });
    for (const FoundFile& found : files) {
      const auto stamp = now.find(found.path);
      if (stamp == now.end() || IsDone() || !IsDue(found.path, stamp->second)) {
        continue;
      }
      ASSIGN_OR_RETURN(const bool answered, Send(found));
      if (!answered) {
        continue;
      }
      sent_[found.path] = stamp->second;
    }
    seen_ = std::move(now);
    return absl::OkStatus();
  }

  bool IsDue(const std::string& path, const FileStamp& stamp) const {
    const auto sent = sent_.find(path);
    const auto seen = seen_.find(path);
    return (sent == sent_.end() || sent->second != stamp) && seen != seen_.end() &&
           seen->second == stamp;
  }

  // Says an error that passes by itself, once as long as it stays the same.
  void Warn(const absl::Status& status) {
    if (std::exchange(warned_, std::string(MessageOf(status))) != MessageOf(status)) {
      context_.err << fmt::format("{}; its files wait for the next look\n",
                                  PrintableLine(MessageOf(status)));
    }
  }

  static bool PassesByItself(const absl::Status& status) {
    return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
           absl::IsResourceExhausted(status) || absl::IsAborted(status) ||
           absl::IsCancelled(status) || ReasonOf(status) == reasons::kFileUnreadable;
  }

  // Returns whether the node took or refused it; false is followed by another try.
  absl::StatusOr<bool> Send(const FoundFile& found) {
    AddLessonsReport::File entry;
    const absl::Status status = SendFile(client_, found, file_, &entry);
    if (ReasonOf(status) == reasons::kNodeUnreachable || PassesByItself(status)) {
      Warn(status);
      return false;
    }
    if (!status.ok() && EndsAll(status)) {
      return status;
    }
    warned_.clear();
    ++taken_;
    if (!status.ok()) {
      entry.set_error(std::string(MessageOf(status)));
      entry.set_reason(std::string(ReasonOf(status)));
      first_refusal_ = first_refusal_.ok() ? Annotate(status, found.name) : first_refusal_;
    }
    context_.out << (context_.json ? ToJsonLine(entry) : LineOf(entry)) << std::flush;
    return true;
  }

  static std::string LineOf(const AddLessonsReport::File& file) {
    return file.error().empty() ? fmt::format("{}: {} lesson(s) added, {} known already\n",
                                              PrintableLine(file.name()), file.result().added(),
                                              file.result().duplicates())
                                : fmt::format("{}: refused: {}\n", PrintableLine(file.name()),
                                              PrintableLine(file.error()));
  }

  CommandContext& context_;
  const AddFlags& flags_;
  const LessonFile file_;
  client::NodeClient client_;
  std::map<std::string, FileStamp> sent_;  // by path
  std::map<std::string, FileStamp> seen_;  // in the last look
  uint64_t taken_ = 0;
  std::string warned_;  // the last message about what passes by itself
  absl::Status first_refusal_;
};

absl::Status AddOrWatch(CommandContext& context, const AddFlags& flags) {
  if (!flags.watch) {
    return flags.every || flags.count
               ? UsageError("--every and --count are for --watch; leave them out, or add --watch")
               : Add(context, flags);
  }
  ASSIGN_OR_RETURN(LessonFile file, FileOf(flags));
  return FolderWatch(context, flags, std::move(file)).Run();
}

}  // namespace

void AddLessonAddVerb(VerbTable& verbs) {
  auto flags = std::make_shared<AddFlags>();
  Verb add = verbs.Add("learn add", kLearningGroup,
                       "Give the node texts to learn from: files, or folders of files",
                       [flags](CommandContext& c) { return AddOrWatch(c, *flags); });
  add.Option("path", flags->paths, "Files or folders: plain text, Markdown or JSON Lines")
      .Required();
  add.Option("--user", flags->user,
             "The person whose texts they are; erasing the user erases them");
  add.Option("--tier", flags->tier,
             "The most that may leave the node of what is learned: private, masked, dp or public; "
             "it only lowers what the consents allow");
  add.Option("--as", flags->format,
             "Read the files as text, markdown or jsonl, whatever their name")
      .OneOf({"text", "markdown", "jsonl"});
  add.Switch("--watch", flags->watch,
             "Send what appears or changes in the folders, until Ctrl-C; lessons of a deleted file "
             "stay until `ruvd learn withdraw`");
  add.Option("--every", flags->every,
             "With --watch: seconds between two looks at the folders (default 5)")
      .InRange(kLeastWait, kLongestWait);
  add.Option("--count", flags->count, "With --watch: stop after this many files")
      .InRange(1, kMostFiles);
}

}  // namespace ruvd::cli
