// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/generate_stream.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/model/model.h"
#include "node/api/caller.h"
#include "node/api/callers.h"
#include "node/api/charged_listener.h"
#include "node/api/frame_merger.h"
#include "node/api/generate_request.h"
#include "node/api/messages.h"
#include "node/api/rpc_status.h"
#include "node/limits.h"
#include "node/serving/inference.h"

namespace ruvd::api {
namespace {

// Returns on the monotonic clock when the call must end, whether its caller says so or not.
TimePoint DeadlineOf(const grpc::CallbackServerContext& context, const Clock& clock) {
  const TimePoint latest = clock.Now() + limits::kMaxComputeTime;
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) {
    return latest;
  }
  const auto wall =
      std::chrono::system_clock::time_point(std::chrono::milliseconds(clock.WallMillis()));
  return std::min(latest, clock.Now() + std::chrono::duration_cast<Duration>(deadline - wall));
}

// One Generate call. The object lives until gRPC is done with the call.
class GenerateStream final : public grpc::ServerWriteReactor<inference::v1::GenerateResponse>,
                             public serving::GenerationListener {
 public:
  static GenerateStream* Start(const ServiceDependencies& node,
                               grpc::CallbackServerContext* context,
                               const inference::v1::GenerateRequest& request);

  void OnStarted(const serving::GenerationStarted& started) override;
  void OnStep(const inference::StepResult& step) override;
  void OnEnd(const absl::StatusOr<serving::GenerationFinished>& result) override;
  bool cancelled() const override { return cancelled_.load(); }

  void OnWriteDone(bool ok) override;
  void OnCancel() override { cancelled_.store(true); }
  void OnDone() override { self_.reset(); }

 private:
  GenerateStream(const inference::Tokenizer& tokenizer, bool frames)
      : tokenizer_(tokenizer), frames_(frames) {}
  void Enqueue(inference::v1::GenerateResponse message);
  // Enqueues a frame, or merges it into one that waits where the reader lags.
  void EnqueueFrame(const inference::v1::DenoiseFrame& frame);
  // Enqueues what came since the last frame, if anything.
  void PushFrames() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts the next write or finishes the call; called without the mutex.
  void Pump();
  void End(grpc::Status status);

  const inference::Tokenizer& tokenizer_;
  const bool frames_;
  std::atomic<bool> cancelled_{false};
  std::shared_ptr<GenerateStream> self_;  // released by OnDone

  Mutex mutex_;
  std::deque<inference::v1::GenerateResponse> queue_ ABSL_GUARDED_BY(mutex_);
  size_t pending_frames_ ABSL_GUARDED_BY(mutex_) = 0;
  FrameMerger frames_since_ ABSL_GUARDED_BY(mutex_);  // those that are not in the queue yet
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

GenerateStream* GenerateStream::Start(const ServiceDependencies& node,
                                      grpc::CallbackServerContext* context,
                                      const inference::v1::GenerateRequest& request) {
  std::shared_ptr<GenerateStream> stream(
      new GenerateStream(node.model->tokenizer(), request.stream_frames()));
  stream->self_ = stream;
  const auto call = AdmitCall(node.callers, *context);
  absl::Status allowed = call.status();
  allowed.Update(CheckModel("model", request.model(), *node.model));
  absl::StatusOr<serving::GenerationJob> job =
      allowed.ok() ? ReadGenerate(request, (*call)->caller()) : allowed;
  if (!job.ok()) {
    stream->End(ToRpcStatus(job.status()));
    return stream.get();
  }
  job->deadline = DeadlineOf(*context, *node.clock);
  job->listener = std::make_shared<ChargedListener>(stream, *call);
  if (absl::Status status = node.inference->Generate(*std::move(job)); !status.ok()) {
    stream->End(ToRpcStatus(status));
  }
  return stream.get();
}

void GenerateStream::OnStarted(const serving::GenerationStarted& started) {
  inference::v1::GenerateResponse message;
  WriteStarted(started, tokenizer_, message.mutable_started());
  Enqueue(std::move(message));
}

void GenerateStream::OnStep(const inference::StepResult& step) {
  if (frames_) {
    inference::v1::DenoiseFrame frame;
    WriteFrame(step, tokenizer_, &frame);
    EnqueueFrame(frame);
  }
  if (!step.text.empty()) {
    inference::v1::GenerateResponse message;
    message.mutable_text_delta()->set_text(step.text);
    Enqueue(std::move(message));
  }
}

void GenerateStream::OnEnd(const absl::StatusOr<serving::GenerationFinished>& result) {
  {
    MutexLock lock(mutex_);
    PushFrames();
  }
  if (result.ok()) {
    inference::v1::GenerateResponse message;
    WriteFinished(*result, tokenizer_, message.mutable_finished());
    Enqueue(std::move(message));
  }
  End(ToRpcStatus(result.status()));
}

void GenerateStream::Enqueue(inference::v1::GenerateResponse message) {
  {
    MutexLock lock(mutex_);
    queue_.push_back(std::move(message));
  }
  Pump();
}

void GenerateStream::EnqueueFrame(const inference::v1::DenoiseFrame& frame) {
  {
    MutexLock lock(mutex_);
    frames_since_.Add(frame);
    if (pending_frames_ < limits::kMaxPendingFrames) {
      PushFrames();
    }
  }
  Pump();
}

void GenerateStream::PushFrames() {
  if (auto frame = frames_since_.Take()) {
    *queue_.emplace_back().mutable_denoise_frame() = *std::move(frame);
    ++pending_frames_;
  }
}

void GenerateStream::End(grpc::Status status) {
  {
    MutexLock lock(mutex_);
    ended_ = true;
    status_ = std::move(status);
  }
  Pump();
}

void GenerateStream::Pump() {
  const inference::v1::GenerateResponse* next = nullptr;
  grpc::Status status;
  {
    MutexLock lock(mutex_);
    if (writing_ || finished_) {
      return;
    }
    if (!queue_.empty() && !cancelled_.load()) {
      next = &queue_.front();  // stays in place until OnWriteDone: deque references are stable
      writing_ = true;
    } else if (ended_) {
      finished_ = true;
      status = status_;
    } else {
      return;
    }
  }
  if (next != nullptr) {
    StartWrite(next);
  } else {
    Finish(status);
  }
}

void GenerateStream::OnWriteDone(bool ok) {
  {
    MutexLock lock(mutex_);
    writing_ = false;
    pending_frames_ -= queue_.front().has_denoise_frame() ? 1 : 0;
    queue_.pop_front();
    if (!ok) {
      cancelled_.store(true);  // the caller is gone; the rest cannot be delivered
    }
  }
  Pump();
}

}  // namespace

grpc::ServerWriteReactor<inference::v1::GenerateResponse>* StartGenerateStream(
    const ServiceDependencies& node, grpc::CallbackServerContext* context,
    const inference::v1::GenerateRequest& request) {
  return GenerateStream::Start(node, context, request);
}

}  // namespace ruvd::api
