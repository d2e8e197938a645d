// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "base/executor.h"
#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/api/rpc_status.h"

namespace ruvd::api {

// A call that follows long work of the node: it streams once a second how far the work is, and last
// its result. The work goes on if the caller leaves. Thread-safe.
template <typename Response>
class ProgressStream final : public grpc::ServerWriteReactor<Response>,
                             public std::enable_shared_from_this<ProgressStream<Response>> {
 public:
  using Answer = std::function<void(std::optional<Response>)>;
  // Asks how far the work is. The answer may come on any thread, at once or later, or never;
  // nullopt says that there is nothing to tell.
  using Ask = std::function<void(Answer)>;

  // `executor`, which is borrowed, runs `ask` and must not be the one that does the work.
  static std::shared_ptr<ProgressStream> Start(Executor& executor, Ask ask) {
    std::shared_ptr<ProgressStream> stream(new ProgressStream(executor, std::move(ask)));
    stream->self_ = stream;
    stream->AskSoon();
    return stream;
  }

  // Sends the result, or the error, and ends the call. A call that has ended hears nothing.
  void End(absl::StatusOr<Response> result) {
    {
      const MutexLock lock(mutex_);
      if (ended_) {
        return;
      }
      ended_ = true;
      status_ = ToRpcStatus(result.status());
      if (result.ok()) {
        result_ = *std::move(result);
      }
    }
    Pump();
  }

  // Returns whether the caller left or has the result.
  bool has_ended() {
    const MutexLock lock(mutex_);
    return ended_;
  }

  void OnWriteDone(bool ok) override {
    {
      const MutexLock lock(mutex_);
      writing_ = false;
      if (!ok) {
        result_.reset();  // the caller is gone
      }
    }
    if (!ok) {
      Leave();
    }
    Pump();
  }
  void OnCancel() override {
    Leave();
    Pump();
  }
  void OnDone() override { const std::shared_ptr<ProgressStream> self = std::move(self_); }

 private:
  ProgressStream(Executor& executor, Ask ask) : executor_(executor), ask_(std::move(ask)) {}

  void Leave() {
    const MutexLock lock(mutex_);
    if (!ended_) {
      ended_ = true;
      status_ = ToRpcStatus(Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                                  "the caller left, but the work that it asked for goes on"));
    }
  }

  void AskSoon() {
    constexpr std::chrono::seconds kBetween(1);
    executor_.PostAt(executor_.clock().Now() + kBetween, [weak = this->weak_from_this()] {
      if (const auto self = weak.lock(); self != nullptr && !self->has_ended()) {
        self->ask_([weak](std::optional<Response> progress) {
          if (const auto stream = weak.lock(); stream != nullptr) {
            stream->OnProgress(std::move(progress));
          }
        });
      }
    });
  }

  void OnProgress(std::optional<Response> progress) {
    {
      const MutexLock lock(mutex_);
      progress_ = std::move(progress);  // a slow reader misses some
    }
    Pump();
    AskSoon();
  }

  // Writes what is to be written, or finishes; called without the mutex.
  void Pump() {
    std::optional<grpc::Status> status;
    {
      const MutexLock lock(mutex_);
      if (writing_ || finished_) {
        return;
      }
      std::optional<Response>& next = ended_ ? result_ : progress_;
      if (next.has_value()) {
        sent_ = *std::exchange(next, std::nullopt);
        writing_ = true;
      } else if (ended_) {
        finished_ = true;
        status = status_;
      } else {
        return;
      }
    }
    // One thread at a time is here, because `writing_` or `finished_` keeps the others out.
    if (status.has_value()) {
      this->Finish(*status);
    } else {
      this->StartWrite(&sent_);
    }
  }

  Executor& executor_;
  const Ask ask_;
  std::shared_ptr<ProgressStream> self_;  // released by OnDone
  Response sent_;                         // written by the thread that set `writing_`
  Mutex mutex_;
  std::optional<Response> progress_ ABSL_GUARDED_BY(mutex_);
  std::optional<Response> result_ ABSL_GUARDED_BY(mutex_);
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace ruvd::api
