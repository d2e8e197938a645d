// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "node/client/client.h"
#include "node/config/config.h"
#include "node/process/node.h"
#include "node/process/node_tuning.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "ruvd/inference/v1/inference.grpc.pb.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "ruvd/node/v1/node.pb.h"

namespace ruvd::bench {

// Returns the configuration of a node that serves `model` with this many threads, with settings
// KEY=VALUE as on the command line of `ruvd serve`. Fails as LoadConfig does, and with
// INVALID_ARGUMENT for a setting without '='.
absl::StatusOr<config::NodeConfig> ConfigOf(const std::string& model, int threads,
                                            const std::vector<std::string>& settings);

// A whole node in this process, with an empty folder of its own that is removed with it, and a
// client that talks to it over gRPC. Calls may come from several threads.
class ServedNode {
 public:
  // Folder, addresses and the reserve of the disk are set here; the rest of `config` stays. If it
  // enables federation, the node is the only member of a cluster of its own.
  static absl::StatusOr<std::unique_ptr<ServedNode>> Start(config::NodeConfig config,
                                                           const node::NodeTuning& tuning);
  ~ServedNode();
  ServedNode(const ServedNode&) = delete;
  ServedNode& operator=(const ServedNode&) = delete;

  // Waits for the whole completion. `text` gets it; it may be null.
  absl::StatusOr<inference::v1::Finished> Generate(const inference::v1::GenerateRequest& request,
                                                   std::string* text = nullptr);
  // Returns the NELBO of a completion in nats per token.
  absl::StatusOr<inference::v1::ScoreResponse> Score(const inference::v1::ScoreRequest& request);
  absl::StatusOr<learning::v1::SubmitFeedbackResponse> Teach(
      const learning::v1::SubmitFeedbackRequest& request);
  // These calls return at the end of the round.
  absl::StatusOr<learning::v1::BackgroundResult> RunBackground(bool replay);
  absl::StatusOr<learning::v1::DeepResult> RunDeep();
  absl::StatusOr<learning::v1::LearningStatus> Status();
  // Adds a text from which something may leave under the tier `public`, and consents to it, so that
  // the node contributes to the rounds of its cluster.
  absl::Status ContributeFrom(const std::string& text);
  absl::StatusOr<cluster::v1::RoundsStatus> Rounds();
  absl::StatusOr<node::v1::MemoryStatus> Memory();
  // Pausing ends the rounds that run.
  absl::Status Pause();
  absl::Status Resume();

 private:
  ServedNode() = default;

  std::filesystem::path folder_;
  std::unique_ptr<node::Node> node_;
  std::unique_ptr<client::NodeClient> client_;
  std::unique_ptr<inference::v1::InferenceService::Stub> inference_;
  std::unique_ptr<learning::v1::LearningService::Stub> learning_;
};

}  // namespace ruvd::bench
