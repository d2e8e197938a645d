// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

namespace ruvd::api {

// What a node says of itself, apart from its part in the cluster.
struct NodeStatus {
  std::string node_id;
  std::string name;
  std::string version;
  std::string state;  // serving, draining
  std::string model_name;
  std::string model_hash;
  uint64_t patterns = 0;
  uint64_t patterns_capacity = 0;
  uint64_t patterns_pending = 0;  // not in the graph yet: searches scan them
  std::string patterns_problem;   // of the last checkpoint of the graph; empty: none
  uint64_t trajectories = 0;
  uint64_t dead_letters = 0;
  std::string storage_health;
  uint64_t sessions = 0;
  uint64_t witness_stored = 0;
  uint64_t witness_queued = 0;
  uint64_t witness_refused = 0;      // the queue was full, or they were not fit to be stored
  uint64_t witness_crowded_out = 0;  // left before their age: the log was full
  std::string model_package;         // hexadecimal id
  uint32_t embedding_dimension = 0;
  double uptime_seconds = 0;
  uint64_t requests_running = 0;
};

}  // namespace ruvd::api
