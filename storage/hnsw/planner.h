// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

namespace ruvd::storage {

// How a search goes through one bank's rows.
enum class HnswPath : uint8_t {
  kAuto,    // the planner's choice
  kScan,    // every matching row: exact up to the error of the codes
  kWalk,    // over the graph; rows that do not match are walked over
  kTwoHop,  // over the graph; rows that do not match are stepped over, which finds fewer the fewer
            // match
};

// How a search went, for tests and measurements.
struct HnswTrace {
  size_t measured = 0;   // distances, coarse ones included
  size_t matching = 0;   // rows of the larger banks that the filter admits
  bool scanned = false;  // some bank was scanned
  bool walked = false;   // some bank's graph was walked
  bool two_hop = false;  // and rows that do not match were stepped over
  bool gave_up = false;  // a walk that found too little was followed by a scan
};

namespace hnsw {

struct PlanInput {
  size_t matching = 0;  // rows of the bank that the filter admits
  size_t rows = 0;      // live rows of the bank
  size_t linked = 0;    // of them in the graph
  size_t removed = 0;   // removed rows that are still in the graph
  size_t ef = 0;
  size_t width = 0;  // links of a node
};

struct Plan {
  HnswPath path = HnswPath::kScan;
  // Work after which a walk gives up and a scan follows (see WalkOptions): with it the worst case
  // is about twice the scan.
  size_t budget = 0;
};

// Chooses the cheapest path by the expected number of distances. `forced` is taken where it is not
// kAuto, without a limit of work; a bank without a graph is scanned all the same.
Plan MakePlan(const PlanInput& input, HnswPath forced);

}  // namespace hnsw
}  // namespace ruvd::storage
