// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

namespace ruvd::storage {

// How a search visits the rows of one bank.
enum class HnswPath : uint8_t {
  kAuto,    // the planner's choice
  kScan,    // every matching row: exact up to the error of the codes
  kWalk,    // over the graph; visits rows that do not match as well
  kTwoHop,  // over the graph; skips rows that do not match; finds fewer when few match
};

// Describes how a search went, for tests and measurements.
struct HnswTrace {
  size_t measured = 0;   // distances computed, coarse ones included
  size_t matching = 0;   // rows of the larger banks that the filter admits
  bool scanned = false;  // some bank was scanned
  bool walked = false;   // some bank's graph was walked
  bool two_hop = false;  // a walk skipped rows that do not match
  bool gave_up = false;  // a walk that found too little was followed by a scan
};

namespace hnsw {

struct PlanInput {
  size_t matching = 0;  // rows of the bank that the filter admits
  size_t rows = 0;      // live rows of the bank
  size_t linked = 0;    // live rows in the graph
  size_t removed = 0;   // removed rows that are still in the graph
  size_t ef = 0;
  size_t width = 0;  // links of a node
};

struct Plan {
  HnswPath path = HnswPath::kScan;
  // The amount of work after which a walk gives up and a scan follows (see WalkOptions). With it
  // the worst case is about twice the scan.
  size_t budget = 0;
};

// Chooses the path with the lowest expected number of distances. A `forced` path other than kAuto
// is taken without a limit of work; a bank without a graph is scanned anyway.
Plan MakePlan(const PlanInput& input, HnswPath forced);

}  // namespace hnsw
}  // namespace ruvd::storage
