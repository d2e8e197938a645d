// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "node/client/client.h"
#include "node/local/demo/child_process.h"
#include "privacy/ledger/ledger_entry.h"

namespace ruvd::bench {

// Keys of the configuration with their values, as on the command line of `ruvd serve`.
using NodeSettings = std::vector<std::pair<std::string, std::string>>;

// A verb of `ruvd` that ends by itself.
struct VerbCall {
  std::string program;             // the file of `ruvd`
  std::vector<std::string> verb;   // {"privacy", "export"}
  std::vector<std::string> flags;  // they may name secrets, so errors do not quote them
  std::string log_file;            // its standard error is appended to this file
};
// Runs a verb with `--format json` and returns the line that it prints. PROCESS_FAILED quotes the
// end of the log if the verb fails, prints nothing, or does not end within a minute.
absl::StatusOr<std::string> RunVerb(const VerbCall& call);

// A node that is a process of `ruvd serve`.
struct NodeProcess {
  std::string name;
  std::string data_dir;
  std::string config_file;
  std::string log_file;
  std::string federation;                      // address that its peers dial
  std::string id;                              // hexadecimal
  std::unique_ptr<cli::ChildProcess> process;  // null once it has stopped
  std::unique_ptr<client::NodeClient> client;
};

// What `ruvd privacy verify` says about the ledger of a stopped node.
struct LedgerCheck {
  bool valid = false;
  std::string problem;  // empty if it is valid
  uint64_t entries = 0;
  double unit_epsilon = 0;  // the largest that a unit has spent
};

// A cluster of processes on loopback, made with the verbs that an operator uses: `init
// --authority`, `cert tls`, `token create`, `join` and `serve`. Links and client API use TLS, and
// clients have keys. The processes end with this object, by their process ids. Not thread-safe,
// but the clients are.
class NodeProcesses {
 public:
  struct Options {
    std::string program;             // the file of `ruvd`
    std::string model;               // a GGUF file
    std::string folder;              // an existing folder for data, keys and logs
    std::vector<std::string> names;  // of the nodes
    NodeSettings settings;           // of every node
    // What the last node runs in place of `program serve`: a program and its first arguments.
    // Empty: it is as honest as the others.
    std::vector<std::string> liar;
  };
  // Starts one node after the other and waits until each serves. PROCESS_FAILED quotes the end of
  // a log.
  static absl::StatusOr<std::unique_ptr<NodeProcesses>> Start(Options options);
  ~NodeProcesses();
  NodeProcesses(const NodeProcesses&) = delete;
  NodeProcesses& operator=(const NodeProcesses&) = delete;

  std::vector<NodeProcess>& nodes() { return nodes_; }

  // Asks all nodes to stop and waits for them. PROCESS_FAILED names the first that did not exit
  // with 0 in time.
  absl::Status StopAll();
  // Exports and checks the ledger of a stopped node with its key, its counter and the budget of a
  // `unit`, which is a lesson or a user; a budget of 0 is not compared. PROCESS_FAILED if the node
  // still runs.
  absl::StatusOr<LedgerCheck> VerifyLedger(const NodeProcess& node, privacy::PrivacyUnit unit,
                                           double unit_epsilon, double delta) const;

 private:
  explicit NodeProcesses(Options options) : options_(std::move(options)) {}
  absl::Status AddNode(const std::string& name);
  absl::Status Found(const NodeProcess& node) const;
  absl::Status Join(const NodeProcess& node) const;
  absl::Status Serve(NodeProcess& node) const;

  Options options_;
  std::vector<NodeProcess> nodes_;
};

}  // namespace ruvd::bench
