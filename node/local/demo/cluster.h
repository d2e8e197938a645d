// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "node/local/demo/child_process.h"
#include "privacy/identity/admission.h"

namespace ruvd::cli {

// A node of a demo cluster: a process of its own.
struct DemoNode {
  std::string name;
  std::string data_dir;
  std::string config_file;
  std::string log_file;
  // As the node itself reported them.
  std::string api;
  std::string federation;
  std::string metrics;
  std::string id;
  std::unique_ptr<ChildProcess> process;  // null while it is stopped
};

// Nodes on loopback in a throw-away folder: keys, authority and certificates are made, each node
// has the earlier ones as seeds. Not thread-safe.
class DemoCluster {
 public:
  struct Options {
    int nodes = 3;
    std::string model;  // a GGUF file
    std::vector<std::pair<std::string, std::string>> environment;
    // Take the documented ports (API 7420, 7430, ...) where they are free, so that `ruvd run` needs
    // no --server.
    bool usual_ports = false;
  };
  // Starts one node after the other and waits until each serves. On error nothing is left: the
  // message quotes the end of the failed node's log.
  static absl::StatusOr<std::unique_ptr<DemoCluster>> Start(const Options& options);
  // Stops everything and removes the folder.
  ~DemoCluster();
  DemoCluster(const DemoCluster&) = delete;
  DemoCluster& operator=(const DemoCluster&) = delete;

  std::vector<DemoNode>& nodes() { return nodes_; }
  const std::vector<DemoNode>& nodes() const { return nodes_; }
  const std::string& folder() const { return folder_; }
  const privacy::ClusterAuthority& authority() const { return authority_; }

  // Starts a stopped node again with its configuration and data.
  absl::Status StartNode(DemoNode& node);
  // Sends the signal and waits for the end. PROCESS_FAILED if it does not come in time; the process
  // is killed then.
  absl::StatusOr<ExitReport> StopNode(DemoNode& node, int signal, std::chrono::seconds timeout);
  // SIGTERM to all, then waits for all. The first node that did not exit with 0 is the error.
  absl::Status StopAll();

 private:
  DemoCluster(Options options, std::string folder, privacy::ClusterAuthority authority)
      : options_(std::move(options)),
        folder_(std::move(folder)),
        authority_(std::move(authority)) {}
  absl::Status AddNode(int index);
  // Waits for a signalled node. A second signal would end it without a drain.
  absl::StatusOr<ExitReport> AwaitEnd(DemoNode& node, std::chrono::seconds timeout);

  Options options_;
  std::string folder_;
  privacy::ClusterAuthority authority_;
  std::vector<DemoNode> nodes_;
};

// The last lines of a node's log, for error messages.
std::string EndOfLog(const DemoNode& node);

}  // namespace ruvd::cli
