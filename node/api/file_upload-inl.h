// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fmt/format.h>
#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/api/bad_request.h"
#include "node/api/rpc_status.h"
#include "node/limits.h"

namespace ruvd::api {

// Receives a file in pieces: the first message of the call describes it (`file`), and the others
// hold its bytes (`data`). The whole file is in memory, so their number at a time is bounded. gRPC
// calls the reactions one after another, except OnCancel.
template <typename Request>
class FileUpload final : public grpc::ServerReadReactor<Request>,
                         public std::enable_shared_from_this<FileUpload<Request>> {
 public:
  using File = std::decay_t<decltype(std::declval<Request>().file())>;
  using Done = std::function<void(const absl::Status&)>;
  struct Options {
    std::atomic<size_t>* uploads;  // counts those that run; must outlive the call
    size_t most_uploads;
    std::chrono::seconds patience = limits::kUploadPatience;  // for the whole file
    // Checks the description before any byte is received, and returns how many bytes will follow.
    std::function<absl::StatusOr<uint64_t>(const File&)> check;
    // Stores the file, on any thread, and calls `done` once. It is not called if the caller left
    // before the whole file was there.
    std::function<void(File file, std::string bytes, Done done)> store;
  };

  static FileUpload* Start(grpc::CallbackServerContext* context, Options options) {
    std::shared_ptr<FileUpload> upload(new FileUpload(context, std::move(options)));
    upload->self_ = upload;
    upload->counts_ = true;
    if (upload->options_.uploads->fetch_add(1) >= upload->options_.most_uploads) {
      upload->End(Error(absl::StatusCode::kResourceExhausted, reasons::kMailboxFull,
                        "{} files arrive already; try again in a moment",
                        upload->options_.most_uploads));
    } else {
      upload->GiveUpInTime();
      upload->StartSendInitialMetadata();  // what is erased from now on includes this file
      upload->StartRead(&upload->request_);
    }
    return upload.get();
  }
  // Ends a call that is not admitted.
  static FileUpload* Refuse(grpc::CallbackServerContext* context, std::atomic<size_t>* uploads,
                            const absl::Status& why) {
    std::shared_ptr<FileUpload> upload(
        new FileUpload(context, {.uploads = uploads, .most_uploads = 0}));
    upload->self_ = upload;
    upload->End(why);
    return upload.get();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      ArrivedOrBrokenOff();
    } else if (const absl::Status status = Take(); status.ok()) {
      this->StartRead(&request_);
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
    const std::shared_ptr<FileUpload> self = std::move(self_);
  }

 private:
  FileUpload(grpc::CallbackServerContext* context, Options options)
      : options_(std::move(options)), context_(context) {}

  // What the call holds is free before its caller hears of the end.
  void End(const absl::Status& status) {
    options_.store = nullptr;
    if (std::exchange(counts_, false)) {
      options_.uploads->fetch_sub(1);
    }
    this->Finish(ToRpcStatus(status));
  }

  // Only the upload is limited; storing a large file may take longer.
  void GiveUpInTime() {
    alarm_.Set(gpr_time_from_seconds(options_.patience.count(), GPR_TIMESPAN),
               [weak = this->weak_from_this()](bool due) {
                 if (const std::shared_ptr<FileUpload> self = weak.lock(); due && self != nullptr) {
                   const MutexLock lock(self->mutex_);
                   if (self->context_ != nullptr && !self->arrived_) {
                     self->context_->TryCancel();
                   }
                 }
               });
  }

  absl::Status Take() {
    if (request_.has_file() == file_.has_value()) {
      return BadField("part",
                      "the first message must describe the file, and the others must hold its "
                      "bytes; update the calling program");
    }
    if (request_.has_file()) {
      ASSIGN_OR_RETURN(expected_, options_.check(request_.file()));
      file_ = request_.file();
      bytes_.reserve(
          std::min<uint64_t>(expected_, limits::kMaxChunkBytes));  // others have not come
      return absl::OkStatus();
    }
    if (request_.data().size() > expected_ - bytes_.size()) {
      return WrongSize("more");
    }
    bytes_ += request_.data();
    return absl::OkStatus();
  }

  absl::Status WrongSize(std::string_view how) const {
    return BadField("file",
                    "{} bytes arrived than the {} that were said; the file changed while it was "
                    "sent, or the upload broke off: send it again",
                    how, expected_);
  }

  void ArrivedOrBrokenOff() {
    if (!file_) {
      End(BadField("file", "no file was sent; update the calling program"));
    } else if (bytes_.size() < expected_) {
      End(WrongSize("fewer"));
    } else if (!NoteArrival()) {
      End(Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                "the upload was cancelled, or took longer than {} s; nothing was stored",
                options_.patience.count()));
    } else {
      const auto store = std::exchange(options_.store, nullptr);
      store(*std::move(file_), std::move(bytes_),
            [self = this->shared_from_this()](const absl::Status& s) { self->End(s); });
    }
  }

  // Returns false if the caller left, who then must not find the file stored.
  bool NoteArrival() {
    const MutexLock lock(mutex_);
    arrived_ = context_ != nullptr && !context_->IsCancelled();
    return arrived_;
  }

  Options options_;
  bool counts_ = false;               // against `uploads`
  std::shared_ptr<FileUpload> self_;  // released by OnDone
  Request request_;
  std::optional<File> file_;
  uint64_t expected_ = 0;
  std::string bytes_;
  grpc::Alarm alarm_;
  Mutex mutex_;
  bool arrived_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::CallbackServerContext* context_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::api
