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
  uint64_t rss_bytes = 0;       // the process at its largest
  uint64_t node_rss_bytes = 0;  // what it grew by, divided by the nodes of one world
  uint64_t signatures_asked = 0;
  uint64_t signatures_computed = 0;
};

// All runs of one command, added up.
struct Summary {
  size_t nodes = 0;
  bool simulated_signatures = false;
  std::vector<WorldReport> runs;
  Cost cost;
};

// The command that repeats the run of one seed.
std::string ReproductionCommand(const WorldOptions& options, uint64_t seed);

// One JSON object on one line, and the same as a table for people.
std::string ToJson(const Summary& summary);
std::string ToTable(const Summary& summary);

}  // namespace ruvd::test
