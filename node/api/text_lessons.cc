// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/text_lessons.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error_details.h"
#include "base/executor.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/model/model.h"
#include "node/api/bad_request.h"
#include "node/api/file_upload-inl.h"
#include "node/api/message_times.h"
#include "node/api/pages.h"
#include "node/learning/lesson_cutter.h"
#include "node/learning/memory.h"
#include "node/lesson_files.h"
#include "node/limits.h"
#include "node/serving/erasure_fence.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "storage/lessons/lesson_store.h"

namespace ruvd::api {
namespace {

using learning::v1::AddLessonsRequest;
using learning::v1::AddLessonsResponse;
using learning::v1::LessonFile;

absl::StatusOr<LessonFormat> FormatOf(const LessonFile& file) {
  switch (file.format()) {
    case LessonFile::FORMAT_PLAIN_TEXT:
      return LessonFormat::kPlainText;
    case LessonFile::FORMAT_MARKDOWN:
      return LessonFormat::kMarkdown;
    case LessonFile::FORMAT_JSON_LINES:
      return LessonFormat::kJsonLines;
    case LessonFile::FORMAT_UNSPECIFIED:
      break;
    default:
      return BadField("file.format",
                      "format {} is not known; give 0 (by the name) to {}, or update this node",
                      file.format(), static_cast<int>(LessonFile::Format_MAX));
  }
  const std::optional<LessonFormat> format = LessonFormatOf(file.name());
  if (!format) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kFileUnreadable,
                 "the ending of its name says no known format; give a file {}, or say which format "
                 "it has",
                 kLessonFileNames);
  }
  return *format;
}

// Refuses before any byte is received what can be refused then.
absl::StatusOr<uint64_t> CheckFile(const LessonFile& file) {
  RETURN_IF_ERROR(FormatOf(file).status());
  if (file.user_id().size() > limits::kMaxUserIdBytes) {
    return BadField("file.user_id", "user_id has {} bytes, but must have at most {}",
                    file.user_id().size(), limits::kMaxUserIdBytes);
  }
  if (!privacy::v1::SharingTier_IsValid(file.tier())) {
    return BadField("file.tier", "tier {} is not known; use private, masked, dp or public",
                    static_cast<int>(file.tier()));
  }
  if (file.bytes() > limits::kMaxLessonFileBytes) {
    return WithLimit(
        Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
              "it has {} bytes, more than {}; split it", file.bytes(), limits::kMaxLessonFileBytes),
        {.limit = limits::kMaxLessonFileBytes, .value = file.bytes()});
  }
  return file.bytes();
}

// Cuts the file into lessons and stores them.
absl::Status Store(const ServiceDependencies& node, const LessonFile& file, std::string_view bytes,
                   TimePoint begun, AddLessonsResponse* response) {
  ASSIGN_OR_RETURN(const LessonFormat format, FormatOf(file));
  ASSIGN_OR_RETURN(learning::CutLessonFile cut,
                   learning::CutLessons(bytes, format, node.model->tokenizer()));
  storage::LessonSource source;
  source.name = file.name();
  source.content_hash = Sha256(bytes);
  source.bytes = bytes.size();
  source.user_id = file.user_id();
  source.tier = static_cast<uint32_t>(file.tier());
  source.created_ms = node.clock->WallMillis();
  std::vector<storage::NewLesson> lessons;
  lessons.reserve(cut.lessons.size());
  for (learning::CutLesson& lesson : cut.lessons) {
    lessons.push_back({.prompt = std::move(lesson.prompt), .text = std::move(lesson.text)});
  }
  // An erasure of the user runs on this executor, too, so none begins before Add ends.
  if (node.fence != nullptr && !node.fence->RunUnlessErased(file.user_id(), begun, [] {})) {
    return Error(absl::StatusCode::kAborted, reasons::kCancelled,
                 "the user was erased while the file arrived; nothing was stored");
  }
  ASSIGN_OR_RETURN(const storage::AddedLessons added, node.lessons->Add(source, lessons));
  if (node.memory != nullptr) {
    node.memory->OnLessonsChanged();
  }
  response->set_source_id(added.source ? ToHex(*added.source) : "");
  response->set_added(added.added);
  response->set_duplicates(added.duplicates);
  response->set_lowered(added.lowered);
  response->set_too_short(cut.too_short);
  response->set_stored(node.lessons->size());
  return absl::OkStatus();
}

template <typename Id>
absl::StatusOr<Id> ReadId(const std::string& hex, std::string_view what) {
  const std::optional<std::string> bytes = FromHex(hex);
  Id id{};
  if (!bytes || bytes->size() != id.size()) {
    return BadField(what,
                    "{} \"{}\" does not have {} hexadecimal digits; `ruvd learn sources` and "
                    "`ruvd learn lessons` list the ids",
                    what, hex.substr(0, 64), 2 * id.size());
  }
  std::ranges::copy(AsBytes(*bytes), id.begin());
  return id;
}

size_t PageSizeOf(uint32_t asked) {
  return PageSize(asked, limits::kMaxLessonPage, limits::kMaxLessonPage);
}

}  // namespace

grpc::ServerReadReactor<AddLessonsRequest>* ReceiveLessons(const ServiceDependencies& dependencies,
                                                           std::atomic<size_t>& uploads,
                                                           grpc::CallbackServerContext* context,
                                                           AddLessonsResponse* response) {
  using Upload = FileUpload<AddLessonsRequest>;
  return Upload::Start(
      context, {.uploads = &uploads,
                .most_uploads = limits::kMaxLessonUploads,
                .check = CheckFile,
                .store = [&dependencies, response, begun = dependencies.clock->Now()](
                             const LessonFile& file, std::string bytes, const Upload::Done& done) {
                  dependencies.upkeep->Post(
                      [&dependencies, response, begun, file, bytes = std::move(bytes), done] {
                        done(Store(dependencies, file, bytes, begun, response));
                      });
                }});
}

absl::Status ListLessonSources(const storage::LessonStore& lessons,
                               const learning::v1::ListLessonSourcesRequest& request,
                               learning::v1::ListLessonSourcesResponse* response) {
  std::optional<storage::LessonSourceId> after;
  if (!request.page_token().empty()) {
    ASSIGN_OR_RETURN(const std::string key, ReadPageToken(request.page_token()));
    if (key.size() != sizeof(storage::LessonSourceId)) {
      return StalePageToken(request.page_token());
    }
    std::ranges::copy(AsBytes(key), after.emplace().begin());
  }
  const size_t most = PageSizeOf(request.page_size());
  ASSIGN_OR_RETURN(const auto sources, lessons.ListSources(after, most));
  for (const storage::LessonSource& source : sources) {
    auto* message = response->add_sources();
    message->set_source_id(ToHex(source.id));
    message->set_name(source.name);
    message->set_bytes(source.bytes);
    message->set_lessons(source.lessons);
    message->set_user_id(source.user_id);
    message->set_tier(static_cast<privacy::v1::SharingTier>(source.tier));
    *message->mutable_create_time() = ToTimestamp(source.created_ms);
    message->set_complete(source.complete);
  }
  if (sources.size() == most) {
    response->set_next_page_token(PageToken(AsText(sources.back().id)));
  }
  return absl::OkStatus();
}

absl::Status ListTextLessons(const storage::LessonStore& lessons,
                             const learning::v1::ListTextLessonsRequest& request,
                             learning::v1::ListTextLessonsResponse* response) {
  storage::LessonQuery query{.most = PageSizeOf(request.page_size())};
  ASSIGN_OR_RETURN(query.from, ReadPagePosition(request.page_token()));
  if (!request.source_id().empty()) {
    ASSIGN_OR_RETURN(query.source,
                     ReadId<storage::LessonSourceId>(request.source_id(), "source_id"));
  }
  if (request.has_user_id()) {
    query.user_id = request.user_id();
  }
  query.most_bytes = limits::kMaxPageBytes;
  ASSIGN_OR_RETURN(const storage::LessonPage page, lessons.List(query));
  for (const storage::StoredLesson& lesson : page.lessons) {
    auto* message = response->add_lessons();
    message->set_lesson_id(ToHex(lesson.id));
    message->set_source_id(ToHex(lesson.source));
    message->set_index(lesson.index);
    message->set_user_id(lesson.user_id);
    message->set_prompt(lesson.prompt);
    message->set_text(lesson.text);
    message->set_tier(static_cast<privacy::v1::SharingTier>(lesson.tier));
    *message->mutable_create_time() = ToTimestamp(lesson.created_ms);
  }
  if (page.next) {
    response->set_next_page_token(PageToken(std::to_string(*page.next)));
  }
  return absl::OkStatus();
}

absl::Status WithdrawLessons(storage::LessonStore& lessons,
                             const learning::v1::WithdrawLessonsRequest& request,
                             learning::v1::WithdrawLessonsResponse* response) {
  absl::StatusOr<storage::WithdrawnLessons> withdrawn =
      BadField("what", "say which lessons: those of a source, those of a user, or one");
  if (request.has_source_id()) {
    ASSIGN_OR_RETURN(const auto id,
                     ReadId<storage::LessonSourceId>(request.source_id(), "source_id"));
    withdrawn = lessons.WithdrawSource(id);
  } else if (request.has_user_id()) {
    withdrawn = lessons.WithdrawUser(request.user_id());
  } else if (request.has_lesson_id()) {
    ASSIGN_OR_RETURN(const auto id, ReadId<storage::LessonId>(request.lesson_id(), "lesson_id"));
    withdrawn = lessons.WithdrawLesson(id);
  }
  RETURN_IF_ERROR(withdrawn.status());
  response->set_lessons(withdrawn->lessons);
  response->set_sources(withdrawn->sources);
  return absl::OkStatus();
}

}  // namespace ruvd::api
