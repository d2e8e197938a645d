// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

namespace ruvd::api {

// The status of a node, apart from its part in the cluster.
struct NodeStatus {
  std::string node_id;
  std::string name;
  std::string version;
  std::string state;  // serving, draining
  std::string model_name;
  std::string model_hash;
  uint64_t patterns = 0;
  uint64_t patterns_capacity = 0;
  uint64_t patterns_pending = 0;  // not in the HNSW graph yet; searches scan them
  std::string patterns_problem;   // problem of the graph's last checkpoint; empty: none
  uint64_t trajectories = 0;
  uint64_t dead_letters = 0;
  std::string storage_health;
  uint64_t sessions = 0;
  uint64_t witness_stored = 0;
  uint64_t witness_queued = 0;
  uint64_t witness_refused = 0;      // refused because the queue was full or the record was invalid
  uint64_t witness_crowded_out = 0;  // removed before their time because the log was full
  std::string model_package;         // hexadecimal id
  uint32_t embedding_dimension = 0;
  double uptime_seconds = 0;
  uint64_t requests_running = 0;
};

}  // namespace ruvd::api
