// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "node/client/client.h"
#include "node/local/demo/cluster.h"
#include "node/local/tour/tour.h"

namespace ruvd::cli {

// A learning gate scores a passage twice, which takes most of a minute on a busy machine.
inline constexpr std::chrono::seconds kEventually(180);

// A cluster of real `ruvd serve` processes on loopback, with the settings of `ruvd demo` and the
// model that ships.
class ClusterTest : public ::testing::Test {
 protected:
  // What a call of the command line printed, and its exit code.
  struct Output {
    int code = -1;
    std::string text;    // standard output
    std::string errors;  // standard error
  };

  void StartCluster(int nodes);
  // Runs `ruvd` as a process of its own that talks to the node.
  Output Ruvd(size_t node, const std::vector<std::string>& arguments);
  // Stops a node with a signal and returns how it ended.
  ExitReport Stop(size_t index, int signal);
  // Starts a stopped node again.
  void Restart(size_t index);
  // Teaches the node a lesson of the tour and returns the id of its pattern.
  std::string Teach(size_t index, const TourLesson& lesson);
  // Returns the loss of the lesson's correction, in nats per token.
  double Loss(size_t index, const TourLesson& lesson, bool with_adapters = true);
  // Returns how many patterns the node lists that came from the member `origin`.
  absl::StatusOr<size_t> PatternsFrom(size_t index, const std::string& origin);
  // Waits until the node sees `members` alive.
  void AwaitMembers(size_t index, uint32_t members);

  client::NodeClient& client(size_t index) { return *clients_[index]; }
  DemoNode& node(size_t index) { return cluster_->nodes()[index]; }
  const DemoCluster& cluster() const { return *cluster_; }
  static std::string Model();
  static std::string Program();

 private:
  std::unique_ptr<DemoCluster> cluster_;
  std::vector<std::unique_ptr<client::NodeClient>> clients_;
};

}  // namespace ruvd::cli
