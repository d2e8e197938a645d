// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace ruvd::test {

// What running worlds cost this machine.
struct Cost {
  double cpu_s = 0;
  uint64_t rss_bytes = 0;       // the largest size of the process
  uint64_t node_rss_bytes = 0;  // growth of the process, divided by the nodes of one world
  uint64_t signatures_asked = 0;
  uint64_t signatures_computed = 0;
};

// The sum of all runs of one command.
struct Summary {
  size_t nodes = 0;
  bool simulated_signatures = false;
  std::vector<WorldReport> runs;
  Cost cost;
};

// Returns the command that repeats the run of one seed.
std::string ReproductionCommand(const WorldOptions& options, uint64_t seed);

// Return one JSON object on one line, and a table for people.
std::string ToJson(const Summary& summary);
std::string ToTable(const Summary& summary);

}  // namespace ruvd::test
