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
#include "node/local/demo/ports.h"
#include "privacy/identity/admission.h"

namespace ruvd::cli {

// A node of a demo cluster, which is a process of its own.
struct DemoNode {
  std::string name;
  std::string data_dir;
  std::string config_file;
  std::string log_file;
  // Addresses and id that the node reported when it was ready.
  std::string api;
  std::string federation;
  std::string metrics;
  std::string id;
  std::unique_ptr<ChildProcess> process;  // null while it is stopped
};

// A cluster of nodes on loopback in a temporary folder. Keys, authority and certificates are
// created, and each node has the earlier nodes as seeds. Not thread-safe.
class DemoCluster {
 public:
  struct Options {
    int nodes = 3;
    std::string model;  // a GGUF file
    std::vector<std::pair<std::string, std::string>> environment;
    std::string program = {};  // the `ruvd` that the nodes run; empty: this program
    // Use the documented ports (API 7420, 7430, ...) if they are free, so that `ruvd run` needs no
    // --server.
    bool usual_ports = false;
    // Keys of the configuration with their values, which every node gets as flags
    std::vector<std::pair<std::string, std::string>> settings = {};
  };
  // Starts one node after the other and waits until each serves. On an error everything is removed,
  // and the message quotes the end of the failed node's log.
  static absl::StatusOr<std::unique_ptr<DemoCluster>> Start(const Options& options);
  // Stops everything and removes the folder.
  ~DemoCluster();
  DemoCluster(const DemoCluster&) = delete;
  DemoCluster& operator=(const DemoCluster&) = delete;

  std::vector<DemoNode>& nodes() { return nodes_; }
  const std::vector<DemoNode>& nodes() const { return nodes_; }
  const std::string& folder() const { return folder_; }
  const privacy::ClusterAuthority& authority() const { return authority_; }
  // Returns the path of the program that the nodes run.
  std::string program() const;

  // Starts a stopped node again with its configuration and data.
  absl::Status StartNode(DemoNode& node);
  // Sends the signal and waits for the end of the process. If it does not end in time, it is killed
  // and the result is PROCESS_FAILED.
  absl::StatusOr<ExitReport> StopNode(DemoNode& node, int signal, std::chrono::seconds timeout);
  // Sends SIGTERM to all nodes and waits for all of them. Returns an error for the first node that
  // did not exit with 0.
  absl::Status StopAll();

 private:
  DemoCluster(Options options, std::string folder, privacy::ClusterAuthority authority)
      : options_(std::move(options)),
        folder_(std::move(folder)),
        authority_(std::move(authority)) {}
  absl::Status AddNode(int index);
  // Waits for a node that got its signal. A second signal would end it without draining.
  absl::StatusOr<ExitReport> AwaitEnd(DemoNode& node, std::chrono::seconds timeout);

  Options options_;
  std::string folder_;
  privacy::ClusterAuthority authority_;
  FreePorts ports_;
  std::vector<DemoNode> nodes_;
};

// Returns the last lines of a node's log, for error messages.
std::string LogTail(const DemoNode& node);

}  // namespace ruvd::cli
