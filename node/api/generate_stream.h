// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <deque>
#include <memory>

#include "base/mutex.h"
#include "inference/tokenizer/tokenizer.h"
#include "node/serving/inference.h"
#include "ruvd/inference/v1/inference.grpc.pb.h"

namespace ruvd::api {

// One Generate call: turns the actor's events into messages, with at most one write in flight. A
// slow reader misses denoising frames but never text. The object lives until gRPC is done with the
// call.
class GenerateStream final : public grpc::ServerWriteReactor<inference::v1::GenerateResponse>,
                             public serving::GenerationListener {
 public:
  // `tokenizer` is borrowed and must outlive the call.
  static GenerateStream* Start(serving::InferenceActor& actor,
                               const inference::Tokenizer& tokenizer, const Clock& clock,
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
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::api
