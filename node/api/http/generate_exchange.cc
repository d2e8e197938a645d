// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/http/generate_exchange.h"

#include <optional>
#include <string>
#include <utility>

#include "node/api/frame_merger.h"
#include "node/api/http/http_call.h"
#include "node/api/messages.h"
#include "node/openai/api_error.h"
#include "node/openai/limits.h"

namespace ruvd::api {
namespace {

// The actor never calls two methods at a time, except `cancelled`, which reads the exchange only.
class GenerateExchange final : public serving::GenerationListener {
 public:
  GenerateExchange(bool streams, bool shows_frames, openai::AnswerStamp stamp,
                   const inference::Tokenizer& tokenizer, const Clock& clock,
                   std::shared_ptr<http::Exchange> exchange)
      : streams_(streams),
        shows_frames_(shows_frames),
        stamp_(std::move(stamp)),
        tokenizer_(tokenizer),
        clock_(clock),
        exchange_(std::move(exchange)) {}

  void OnStarted(const serving::GenerationStarted& started) override {
    WriteStarted(started, tokenizer_, &started_);
    if (streams_) {
      has_begun_ = true;
      exchange_->BeginStream(http::kEventStreamType);
      exchange_->Send(openai::StreamBegin(stamp_, started_));
    }
  }

  void OnStep(const inference::StepResult& step) override {
    if (shows_frames_) {
      inference::v1::DenoiseFrame frame;
      WriteFrame(step, tokenizer_, &frame);
      frames_.Add(frame);
      SendFrame(/*is_last=*/false);
    }
    if (!streams_) {
      text_ += step.text;
    } else if (!step.text.empty()) {
      exchange_->Send(openai::StreamText(stamp_, started_, step.text));
    }
  }

  void OnEnd(const absl::StatusOr<serving::GenerationFinished>& result) override {
    if (!result.ok()) {
      Fail(result.status());
      return;
    }
    inference::v1::Finished finished;
    WriteFinished(*result, tokenizer_, &finished);
    if (streams_) {
      SendFrame(/*is_last=*/true);
      exchange_->Send(openai::StreamEnd(stamp_, started_, finished));
      exchange_->EndStream();
    } else {
      exchange_->Respond({.body = openai::WholeAnswer(stamp_, started_, finished, text_)});
    }
  }

  bool cancelled() const override { return exchange_->is_gone(); }

 private:
  // Sends what changed since the last frame, unless that was just now or the reader is behind.
  void SendFrame(bool is_last) {
    const TimePoint now = clock_.Now();
    if (!is_last && (now < next_frame_ || exchange_->is_behind())) {
      return;
    }
    if (const auto frame = frames_.Take()) {
      exchange_->Send(openai::StreamFrame(stamp_, started_, *frame));
      next_frame_ = now + limits::kFrameInterval;
    }
  }

  void Fail(const absl::Status& error) {
    const absl::Status status = WithHttpField(error);
    if (has_begun_) {
      exchange_->Send(openai::StreamError(status));
      exchange_->FailStream(openai::ErrorOf(status).status);
    } else {
      exchange_->Respond(openai::ErrorAnswer(openai::ErrorOf(status)));
    }
  }

  const bool streams_;
  const bool shows_frames_;
  const openai::AnswerStamp stamp_;
  const inference::Tokenizer& tokenizer_;
  const Clock& clock_;
  const std::shared_ptr<http::Exchange> exchange_;
  inference::v1::Started started_;
  bool has_begun_ = false;  // the stream
  std::string text_;        // of a whole answer
  FrameMerger frames_;
  TimePoint next_frame_{};
};

}  // namespace

std::shared_ptr<serving::GenerationListener> MakeGenerateExchange(
    const openai::CompletionRequest& request, openai::AnswerStamp stamp,
    const inference::Tokenizer& tokenizer, const Clock& clock,
    std::shared_ptr<http::Exchange> exchange) {
  return std::make_shared<GenerateExchange>(request.streams, request.shows_frames, std::move(stamp),
                                            tokenizer, clock, std::move(exchange));
}

}  // namespace ruvd::api
