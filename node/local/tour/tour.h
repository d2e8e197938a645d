// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "node/client/client.h"
#include "node/local/demo/cluster.h"
#include "node/local/tour/private_gain.h"
#include "node/local/tour/site_notes.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/learning/v1/learning.pb.h"

namespace ruvd::cli {

// A prompt, its corrected completion, and a paraphrase of both that no lesson contains.
struct TourLesson {
  std::string_view prompt;
  std::string_view correction;
  std::string_view unseen_prompt;
  std::string_view unseen_completion;
};

// The state that the steps of the tour share. Nodes a, b and c are nodes()[0] to [2].
struct Tour {
  std::unique_ptr<DemoCluster> cluster;
  std::string model;
  std::string private_model;  // of the private part, which trains more
  std::string program = {};   // the `ruvd` that the private part runs; empty: this program
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::unique_ptr<client::NodeClient>> clients;  // by node

  std::string response_id;                // of the first completion
  std::string pattern_id;                 // of the first lesson
  std::vector<std::string> acknowledged;  // every pattern that node a acknowledged
  double loss_before_a = 0;               // of the corrected text, nats per token
  double loss_before_b = 0;

  // Of the private part
  std::vector<SiteNotes> notes;  // by node
  NoteLosses losses_before;
  uint64_t first_round = 0;  // that ran when the nodes consented

  client::NodeClient& a() const { return *clients[0]; }
  client::NodeClient& b() const { return *clients[1]; }
  client::NodeClient& c() const { return *clients[2]; }
  DemoNode& node(size_t index) const { return cluster->nodes()[index]; }
};

// One step of the tour. `run` returns what was measured, or an error that says what was expected.
struct TourStep {
  std::string_view title;
  std::function<absl::StatusOr<std::string>(Tour&)> run;
};

// Return the steps in order; each group has its own file in this folder.
std::span<const TourStep> LearningSteps();
std::span<const TourStep> SharingSteps();
std::span<const TourStep> DurabilitySteps();
// These steps start a cluster of their own, so they may also run without the others.
std::span<const TourStep> PrivateSteps();

// Returns the lesson of the tour, and further lessons.
std::span<const TourLesson> TourLessons();

// Returns the error of a failed expectation.
absl::Status Unexpected(std::string_view what);

// Returns the loss of `completion` after `prompt`, in nats per token, on masks of a fixed seed that
// training never used. The memory of lessons takes part only if asked, because most steps show what
// adapters gain.
absl::StatusOr<double> HeldOutLoss(client::NodeClient& client, std::string_view prompt,
                                   std::string_view completion, bool with_adapters,
                                   bool with_memory = false);

// Completes `prompt` with the default sampling and appends the text to `text` if it is not null.
absl::StatusOr<inference::v1::Finished> Complete(client::NodeClient& client,
                                                 std::string_view prompt, std::string* text);

// Sends a correction of a response.
absl::StatusOr<learning::v1::SubmitFeedbackResponse> Correct(client::NodeClient& client,
                                                             const std::string& response_id,
                                                             std::string_view correction);

// Calls `holds` until it returns true, and returns the seconds that this took. At the timeout the
// error names `what`; an error of `holds` ends the wait at once.
absl::StatusOr<double> WaitUntil(std::string_view what, std::chrono::seconds timeout,
                                 const std::function<absl::StatusOr<bool>()>& holds);

// Returns whether the node lists this pattern.
absl::StatusOr<bool> HasPattern(client::NodeClient& client, const std::string& id);

}  // namespace ruvd::cli
