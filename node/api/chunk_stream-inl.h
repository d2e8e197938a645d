// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/executor.h"
#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/api/rpc_status.h"
#include "node/limits.h"

namespace ruvd::api {

inline absl::Status TooManyDownloads() {
  return Error(absl::StatusCode::kResourceExhausted, reasons::kMailboxFull,
               "{} files are being sent already; try again in a moment", limits::kMaxDownloads);
}

// A call that sends a file in pieces of at most limits::kMaxChunkBytes. gRPC calls the reactions
// one after another, except OnCancel.
template <typename Response>
class ChunkStream final : public grpc::ServerWriteReactor<Response>,
                          public std::enable_shared_from_this<ChunkStream<Response>> {
 public:
  // Fills the next message and returns true, or returns false after the last one.
  using Next = std::function<bool(Response*)>;
  // Opens the file: returns the messages, or an error that ends the call.
  using Open = std::function<absl::StatusOr<Next>()>;

  // Opens the file on `executor`, which is borrowed. `ended` runs before the caller hears of the
  // end.
  static ChunkStream* Start(grpc::CallbackServerContext* context, Executor& executor, Open open,
                            std::function<void()> ended) {
    const std::shared_ptr<ChunkStream> stream(new ChunkStream(context, std::move(ended)));
    stream->self_ = stream;
    stream->GiveUpInTime();
    executor.Post([stream, open = std::move(open)] { stream->Begin(open()); });
    return stream.get();
  }
  // Ends a call that is not admitted.
  static ChunkStream* Refuse(grpc::CallbackServerContext* context, const absl::Status& why) {
    const std::shared_ptr<ChunkStream> stream(new ChunkStream(context, nullptr));
    stream->self_ = stream;
    stream->Finish(ToRpcStatus(why));
    return stream.get();
  }

  void OnWriteDone(bool ok) override {
    if (ok) {
      Write();
    } else {
      End(grpc::Status::CANCELLED);  // the caller is gone
    }
  }
  void OnDone() override {
    {
      const MutexLock lock(mutex_);
      context_ = nullptr;  // belongs to gRPC and is gone after this
    }
    alarm_.Cancel();
    const std::shared_ptr<ChunkStream> self = std::move(self_);
  }

 private:
  ChunkStream(grpc::CallbackServerContext* context, std::function<void()> ended)
      : ended_(std::move(ended)), context_(context) {}

  // A reader that stands still must not keep the file in memory for ever.
  void GiveUpInTime() {
    alarm_.Set(gpr_time_from_seconds(limits::kDownloadPatience.count(), GPR_TIMESPAN),
               [weak = this->weak_from_this()](bool due) {
                 if (const auto self = weak.lock(); due && self != nullptr) {
                   const MutexLock lock(self->mutex_);
                   if (self->context_ != nullptr) {
                     self->context_->TryCancel();
                   }
                 }
               });
  }

  void Begin(absl::StatusOr<Next> next) {
    if (!next.ok()) {
      End(ToRpcStatus(next.status()));
      return;
    }
    next_ = *std::move(next);
    Write();
  }

  void Write() {
    sent_.Clear();
    if (next_(&sent_)) {
      this->StartWrite(&sent_);
    } else {
      End(grpc::Status::OK);
    }
  }

  void End(const grpc::Status& status) {
    next_ = nullptr;
    if (const auto ended = std::exchange(ended_, nullptr)) {
      ended();
    }
    this->Finish(status);
  }

  std::function<void()> ended_;
  Next next_;
  Response sent_;
  std::shared_ptr<ChunkStream> self_;  // released by OnDone
  grpc::Alarm alarm_;
  Mutex mutex_;
  grpc::CallbackServerContext* context_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::api
