// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "node/client/client.h"
#include "node/local/demo/cluster.h"

namespace ruvd::cli {

// A prompt, what its completion should have been, and the same said in other words, which no
// lesson contains.
struct TourLesson {
  std::string_view prompt;
  std::string_view correction;
  std::string_view unseen_prompt;
  std::string_view unseen_completion;
};

// What the steps of the tour share. Nodes a, b and c are nodes()[0] to [2].
struct Tour {
  std::unique_ptr<DemoCluster> cluster;
  std::string model;
  std::vector<std::unique_ptr<client::NodeClient>> clients;  // by node

  std::string response_id;                // of the first completion
  std::string pattern_id;                 // of the first lesson
  std::vector<std::string> acknowledged;  // every pattern a answered with
  double loss_before_a = 0;               // of the corrected text, nats per token
  double loss_before_b = 0;

  client::NodeClient& a() const { return *clients[0]; }
  client::NodeClient& b() const { return *clients[1]; }
  client::NodeClient& c() const { return *clients[2]; }
  DemoNode& node(size_t index) const { return cluster->nodes()[index]; }
};

// One step: does something, and says what was measured, or fails with what was expected.
struct TourStep {
  std::string_view title;
  std::function<absl::StatusOr<std::string>(Tour&)> run;
};

// The steps in order; each group in a file of this folder.
std::span<const TourStep> LearningSteps();
std::span<const TourStep> SharingSteps();
std::span<const TourStep> DurabilitySteps();

// The lesson of the tour, and further ones.
std::span<const TourLesson> TourLessons();

// A failed expectation.
absl::Status Unexpected(std::string_view what);

// Nats per token of `completion` after `prompt` on masks of a fixed seed that training never saw.
absl::StatusOr<double> HeldOutLoss(client::NodeClient& client, std::string_view prompt,
                                   std::string_view completion, bool with_adapters);

// Generates after `prompt` greedily; the text goes to `text` if it is not null.
absl::StatusOr<inference::v1::Finished> Complete(client::NodeClient& client,
                                                 std::string_view prompt, std::string* text);

// Sends a correction of a response.
absl::StatusOr<learning::v1::SubmitFeedbackResponse> Correct(client::NodeClient& client,
                                                             const std::string& response_id,
                                                             std::string_view correction);

// Asks `holds` until it is true; the seconds that took. Fails with `what` at the timeout; an error
// of `holds` ends it at once.
absl::StatusOr<double> WaitUntil(std::string_view what, std::chrono::seconds timeout,
                                 const std::function<absl::StatusOr<bool>()>& holds);

// Whether the node lists this pattern.
absl::StatusOr<bool> HasPattern(client::NodeClient& client, const std::string& id);

}  // namespace ruvd::cli
