// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/text_lessons.h"

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/model/model.h"
#include "node/api/rpc_status.h"
#include "node/learning/lesson_cutter.h"
#include "node/learning/memory.h"
#include "node/lesson_files.h"
#include "node/limits.h"
#include "node/serving/erasure_fence.h"
#include "storage/lessons/lesson_store.h"

namespace ruvd::api {
namespace {

using learning::v1::AddLessonsRequest;
using learning::v1::AddLessonsResponse;
using learning::v1::LessonFile;

absl::Status Invalid(std::string_view message) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "{}", message);
}

absl::StatusOr<LessonFormat> FormatOf(const LessonFile& file) {
  switch (file.format()) {
    case LessonFile::FORMAT_PLAIN_TEXT:
      return LessonFormat::kPlainText;
    case LessonFile::FORMAT_MARKDOWN:
      return LessonFormat::kMarkdown;
    case LessonFile::FORMAT_JSON_LINES:
      return LessonFormat::kJsonLines;
    case LessonFile::FORMAT_BY_NAME:
      break;
    default:
      return Invalid(
          fmt::format("format {} is not known; give 0 (by the name) to {}, or update this node",
                      file.format(), static_cast<int>(LessonFile::Format_MAX)));
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
absl::Status CheckFile(const LessonFile& file) {
  RETURN_IF_ERROR(FormatOf(file).status());
  if (file.user_id().size() > limits::kMaxUserIdBytes) {
    return Invalid(fmt::format("user_id has {} bytes, but must have at most {}",
                               file.user_id().size(), limits::kMaxUserIdBytes));
  }
  if (!pattern::v1::SharingTier_IsValid(file.tier())) {
    return Invalid(fmt::format("tier {} is not known; use private, masked, dp or public",
                               static_cast<int>(file.tier())));
  }
  if (file.bytes() > limits::kMaxLessonFileBytes) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "it has {} bytes, more than {}; split it", file.bytes(),
                 limits::kMaxLessonFileBytes);
  }
  return absl::OkStatus();
}

// The call of one file. gRPC calls the reactions one after another, except OnCancel.
class LessonUpload final : public grpc::ServerReadReactor<AddLessonsRequest>,
                           public std::enable_shared_from_this<LessonUpload> {
 public:
  static LessonUpload* Start(const ServiceDependencies& dependencies, std::atomic<size_t>& uploads,
                             grpc::CallbackServerContext* context, AddLessonsResponse* response) {
    std::shared_ptr<LessonUpload> upload(
        new LessonUpload(dependencies, uploads, context, response));
    upload->self_ = upload;
    if (uploads.fetch_add(1) >= limits::kMaxLessonUploads) {
      upload->End(Error(absl::StatusCode::kResourceExhausted, reasons::kMailboxFull,
                        "{} files arrive already; try again in a moment",
                        limits::kMaxLessonUploads));
    } else {
      upload->GiveUpInTime();
      upload->StartSendInitialMetadata();  // what is erased from now on includes this file
      upload->StartRead(&upload->request_);
    }
    return upload.get();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      ArrivedOrBrokenOff();
    } else if (const absl::Status status = Take(); status.ok()) {
      StartRead(&request_);
    } else {
      End(status);
    }
  }
  void OnDone() override {
    {
      const MutexLock lock(mutex_);
      context_ = nullptr;  // belongs to gRPC and is gone after this
    }
    alarm_.Cancel();
    uploads_.fetch_sub(1);
    const std::shared_ptr<LessonUpload> self = std::move(self_);
  }

 private:
  LessonUpload(const ServiceDependencies& dependencies, std::atomic<size_t>& uploads,
               grpc::CallbackServerContext* context, AddLessonsResponse* response)
      : dependencies_(dependencies),
        uploads_(uploads),
        response_(response),
        begun_(dependencies.clock->Now()),
        context_(context) {}

  void End(const absl::Status& status) { Finish(ToRpcStatus(status)); }

  // Only the upload is limited; storing a large file may take longer.
  void GiveUpInTime() {
    alarm_.Set(gpr_time_from_seconds(limits::kLessonUploadPatience.count(), GPR_TIMESPAN),
               [weak = weak_from_this()](bool due) {
                 if (const std::shared_ptr<LessonUpload> self = weak.lock();
                     due && self != nullptr) {
                   const MutexLock lock(self->mutex_);
                   if (self->context_ != nullptr && !self->arrived_) {
                     self->context_->TryCancel();
                   }
                 }
               });
  }

  absl::Status Take() {
    if (request_.has_file() == file_.has_value()) {
      return Invalid(
          "the first message must describe the file, and the others must hold its bytes; update "
          "the calling program");
    }
    if (request_.has_file()) {
      RETURN_IF_ERROR(CheckFile(request_.file()));
      file_ = request_.file();
      bytes_.reserve(file_->bytes());
      return absl::OkStatus();
    }
    if (request_.data().size() > file_->bytes() - bytes_.size()) {
      return WrongSize("more");
    }
    bytes_ += request_.data();
    return absl::OkStatus();
  }

  absl::Status WrongSize(std::string_view how) const {
    return Invalid(
        fmt::format("{} bytes arrived than the {} that were said; the file changed while "
                    "it was sent, or the upload broke off: send it again",
                    how, file_->bytes()));
  }

  void ArrivedOrBrokenOff() {
    if (!file_) {
      End(Invalid("no file was sent; update the calling program"));
    } else if (bytes_.size() < file_->bytes()) {
      End(WrongSize("fewer"));
    } else if (!NoteArrival()) {
      End(Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                "the upload was cancelled, or took longer than {} s; nothing was stored",
                limits::kLessonUploadPatience.count()));
    } else {
      dependencies_.upkeep->Post([self = shared_from_this()] { self->End(self->Store()); });
    }
  }

  // Returns false if the caller left, who then must not find the file stored.
  bool NoteArrival() {
    const MutexLock lock(mutex_);
    arrived_ = context_ != nullptr && !context_->IsCancelled();
    return arrived_;
  }

  absl::Status Store() {
    ASSIGN_OR_RETURN(const LessonFormat format, FormatOf(*file_));
    ASSIGN_OR_RETURN(learning::CutLessonFile cut,
                     learning::CutLessons(bytes_, format, dependencies_.model->tokenizer()));
    storage::LessonSource source;
    source.name = file_->name();
    source.content_hash = Sha256(bytes_);
    source.bytes = bytes_.size();
    source.user_id = file_->user_id();
    source.tier = static_cast<uint32_t>(file_->tier());
    source.created_ms = dependencies_.clock->WallMillis();
    std::vector<storage::NewLesson> lessons;
    lessons.reserve(cut.lessons.size());
    for (learning::CutLesson& lesson : cut.lessons) {
      lessons.push_back({.prompt = std::move(lesson.prompt), .text = std::move(lesson.text)});
    }
    // An erasure of the user runs on this executor, too, so none begins before Add ends.
    if (dependencies_.fence != nullptr &&
        !dependencies_.fence->RunUnlessErased(file_->user_id(), begun_, [] {})) {
      return Error(absl::StatusCode::kAborted, reasons::kCancelled,
                   "the user was erased while the file arrived; nothing was stored");
    }
    ASSIGN_OR_RETURN(const storage::AddedLessons added,
                     dependencies_.lessons->Add(source, lessons));
    if (dependencies_.memory != nullptr) {
      dependencies_.memory->OnLessonsChanged();
    }
    response_->set_source_id(added.source ? ToHex(*added.source) : "");
    response_->set_added(added.added);
    response_->set_duplicates(added.duplicates);
    response_->set_lowered(added.lowered);
    response_->set_too_short(cut.too_short);
    response_->set_stored(dependencies_.lessons->size());
    return absl::OkStatus();
  }

  const ServiceDependencies& dependencies_;
  std::atomic<size_t>& uploads_;
  AddLessonsResponse* const response_;
  std::shared_ptr<LessonUpload> self_;
  AddLessonsRequest request_;
  std::optional<LessonFile> file_;
  std::string bytes_;
  const TimePoint begun_;
  grpc::Alarm alarm_;
  Mutex mutex_;
  bool arrived_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::CallbackServerContext* context_ ABSL_GUARDED_BY(mutex_);
};

template <typename Id>
absl::StatusOr<Id> ReadId(const std::string& hex, std::string_view what) {
  const std::optional<std::string> bytes = FromHex(hex);
  Id id{};
  if (!bytes || bytes->size() != id.size()) {
    return Invalid(
        fmt::format("{} \"{}\" does not have {} hexadecimal digits; `ruvd learn sources` "
                    "and `ruvd learn lessons` list the ids",
                    what, hex.substr(0, 64), 2 * id.size()));
  }
  std::ranges::copy(AsBytes(*bytes), id.begin());
  return id;
}

size_t PageSize(uint32_t asked) {
  return std::min<size_t>(asked == 0 ? limits::kMaxLessonPage : asked, limits::kMaxLessonPage);
}

}  // namespace

grpc::ServerReadReactor<AddLessonsRequest>* ReceiveLessons(const ServiceDependencies& dependencies,
                                                           std::atomic<size_t>& uploads,
                                                           grpc::CallbackServerContext* context,
                                                           AddLessonsResponse* response) {
  return LessonUpload::Start(dependencies, uploads, context, response);
}

absl::Status ListLessonSources(const storage::LessonStore& lessons,
                               const learning::v1::ListLessonSourcesRequest& request,
                               learning::v1::ListLessonSourcesResponse* response) {
  std::optional<storage::LessonSourceId> after;
  if (!request.page_token().empty()) {
    ASSIGN_OR_RETURN(after, ReadId<storage::LessonSourceId>(request.page_token(), "page_token"));
  }
  const size_t most = PageSize(request.page_size());
  ASSIGN_OR_RETURN(const auto sources, lessons.ListSources(after, most));
  for (const storage::LessonSource& source : sources) {
    auto* message = response->add_sources();
    message->set_source_id(ToHex(source.id));
    message->set_name(source.name);
    message->set_bytes(source.bytes);
    message->set_lessons(source.lessons);
    message->set_user_id(source.user_id);
    message->set_tier(static_cast<pattern::v1::SharingTier>(source.tier));
    message->set_created_ms(source.created_ms);
    message->set_complete(source.complete);
  }
  if (sources.size() == most) {
    response->set_next_page_token(ToHex(sources.back().id));
  }
  return absl::OkStatus();
}

absl::Status ListTextLessons(const storage::LessonStore& lessons,
                             const learning::v1::ListTextLessonsRequest& request,
                             learning::v1::ListTextLessonsResponse* response) {
  storage::LessonQuery query{.from = request.from(), .most = PageSize(request.page_size())};
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
    message->set_tier(static_cast<pattern::v1::SharingTier>(lesson.tier));
    message->set_created_ms(lesson.created_ms);
  }
  response->set_next(page.next.value_or(0));
  return absl::OkStatus();
}

absl::Status WithdrawLessons(storage::LessonStore& lessons,
                             const learning::v1::WithdrawLessonsRequest& request,
                             learning::v1::WithdrawLessonsResponse* response) {
  absl::StatusOr<storage::WithdrawnLessons> withdrawn =
      Invalid("say which lessons: those of a source, those of a user, or one");
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
