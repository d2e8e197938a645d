// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/tour/tour.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/learning/v1/learning.pb.h"

namespace ruvd::cli {
namespace {

// The masks are drawn from this seed; the trainer uses a seed of its own.
constexpr uint64_t kHeldOutSeed = 20'261'120;
constexpr uint32_t kHeldOutSamples = 64;
constexpr uint32_t kNewTokens = 32;
constexpr std::chrono::milliseconds kAskEvery(10);

constexpr TourLesson kLessons[] = {
    {"The keeper of the lighthouse wrote in the log that evening:",
     " the lamp burned clear, two herring boats passed before midnight, and the wind stayed in the"
     " west until morning.",
     "At night the keeper of the lighthouse wrote in his book:",
     " the lamp was clear, two boats with herring went by before midnight, and until morning the"
     " wind blew from the west."},
    {"To reset the water pump after a power failure,",
     " turn the red handle to the left, wait until the gauge shows zero, and press the green button"
     " for three seconds.",
     "", ""},
    {"The old baker told her that good bread needs",
     " cold water, coarse salt, a dough that rests for a whole night, and an oven of stone.", "",
     ""},
};

}  // namespace

std::span<const TourLesson> TourLessons() {
  return kLessons;
}

absl::Status Unexpected(std::string_view what) {
  return MakeError(absl::StatusCode::kFailedPrecondition, reasons::kInternal, what);
}

absl::StatusOr<double> HeldOutLoss(client::NodeClient& client, std::string_view prompt,
                                   std::string_view completion, bool with_adapters,
                                   bool with_memory) {
  inference::v1::ScoreRequest request;
  request.set_prompt(std::string(prompt));
  request.set_completion(std::string(completion));
  request.set_mode(inference::v1::DECODING_MODE_DIFFUSION);
  request.set_seed(kHeldOutSeed);
  request.set_samples(kHeldOutSamples);
  request.mutable_adapters()->set_disabled(!with_adapters);
  request.set_without_memory(!with_memory);
  ASSIGN_OR_RETURN(const auto response, client.Call<inference::v1::ScoreResponse>(request));
  return response.nats_per_token();
}

absl::StatusOr<inference::v1::Finished> Complete(client::NodeClient& client,
                                                 std::string_view prompt, std::string* text) {
  inference::v1::GenerateRequest request;
  request.set_prompt(std::string(prompt));
  request.mutable_sampling()->set_max_tokens(kNewTokens);
  inference::v1::Finished finished;
  RETURN_IF_ERROR(client.Generate(request, [&](const inference::v1::GenerateResponse& event) {
    if (event.has_text_delta() && text != nullptr) {
      *text += event.text_delta().text();
    } else if (event.has_finished()) {
      finished = event.finished();
    }
  }));
  if (finished.response_id().empty()) {
    return Unexpected("the stream ended without Finished");
  }
  return finished;
}

absl::StatusOr<learning::v1::SubmitFeedbackResponse> Correct(client::NodeClient& client,
                                                             const std::string& response_id,
                                                             std::string_view correction) {
  learning::v1::SubmitFeedbackRequest request;
  request.set_response_id(response_id);
  request.set_edited_text(std::string(correction));
  return client.Call<learning::v1::SubmitFeedbackResponse>(request);
}

absl::StatusOr<double> WaitUntil(std::string_view what, std::chrono::seconds timeout,
                                 const std::function<absl::StatusOr<bool>()>& holds) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    ASSIGN_OR_RETURN(const bool done, holds());
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (done) {
      return passed.count();
    }
    if (passed > timeout) {
      return Unexpected(fmt::format("this did not happen within {} s: {}", timeout.count(), what));
    }
    std::this_thread::sleep_for(kAskEvery);
  }
}

absl::StatusOr<bool> HasPattern(client::NodeClient& client, const std::string& id) {
  ASSIGN_OR_RETURN(const auto patterns, client::AllPatterns(client));
  return std::ranges::any_of(patterns, [&](const auto& pattern) { return pattern.id() == id; });
}

}  // namespace ruvd::cli
