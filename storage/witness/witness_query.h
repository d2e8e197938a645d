// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "storage/witness/witness_entry.h"

namespace ruvd::storage {

enum class WitnessOutcome : uint8_t { kAny, kOk, kFailed };

// Which entries are meant: those that meet every condition that is set. An entry without a quality
// meets no condition on quality.
struct WitnessFilter {
  int64_t from_ms = 0;                // inclusive
  std::optional<int64_t> to_ms = {};  // exclusive
  std::optional<float> min_quality = {};
  std::optional<float> max_quality = {};
  std::optional<float> min_total_ms = {};
  std::optional<float> max_total_ms = {};
  WitnessOutcome outcome = WitnessOutcome::kAny;
  std::string session_id = {};    // empty: any, here and below
  std::string model = {};         // that generated
  std::string error_reason = {};  // of failed entries
};

bool Matches(const WitnessFilter& filter, const WitnessEntry& entry);

// Asked every few rows; true ends a query with CANCELLED. Empty: nobody cancels.
using WitnessCancelled = std::function<bool()>;

struct WitnessQuery {
  WitnessFilter filter = {};
  // Not empty: the entries whose query embedding is most similar by cosine to this one come first,
  // compared exactly; entries with an embedding of another model, size or none are left out.
  // Without pages.
  std::span<const float> similar_to = {};
  std::string embedded_by = {};  // id of the model package that made it; others are left out
  float min_similarity = -1;
  size_t limit = 100;  // 1 to limits::kMaxListPageSize
  bool oldest_first = false;
  std::string page_token = {};  // of the page before
  WitnessCancelled cancelled = {};
};

struct WitnessHit {
  WitnessEntry entry;  // its embeddings only where similarity was asked for
  std::optional<float> similarity = {};
};

struct WitnessPage {
  std::vector<WitnessHit> hits;
  std::string next_page_token;  // empty on the last page
  // A search by similarity looked at limits::kMaxWitnessScan entries and more are left: narrow the
  // time.
  bool truncated = false;
  uint64_t undecodable = 0;  // rows that were passed over
};

// INVALID_ARGUMENT for limits, similarities or page tokens out of range.
absl::Status CheckQuery(const WitnessQuery& query);

struct WitnessStatsQuery {
  WitnessFilter filter = {};
  // Not 0: the trend in intervals of this length, aligned to the epoch.
  int64_t interval_ms = 0;
  WitnessCancelled cancelled = {};
};

// Nearest-rank percentiles over all counted entries, exact; 0 without entries.
struct LatencySummary {
  float mean_ms = 0;
  float p50_ms = 0;
  float p90_ms = 0;
  float p99_ms = 0;
  float max_ms = 0;
};

struct WitnessInterval {
  int64_t start_ms = 0;
  uint64_t entries = 0;
  uint64_t failed = 0;
  uint64_t rated = 0;
  double mean_quality = 0;  // of the rated ones
};

struct WitnessStats {
  uint64_t entries = 0;
  uint64_t failed = 0;
  uint64_t rated = 0;
  double mean_quality = 0;    // of the rated ones
  LatencySummary total;       // of all entries
  LatencySummary generation;  // of those that did not fail
  std::map<std::string, uint64_t> by_model;
  std::map<std::string, uint64_t> by_error;  // failed ones by reason
  std::vector<WitnessInterval> intervals;    // those with entries, oldest first
  // Only the first limits::kMaxWitnessScan entries or limits::kMaxWitnessIntervals intervals are
  // counted: narrow the time.
  bool truncated = false;
  uint64_t undecodable = 0;  // rows that were passed over
};

// Counts entries one after another, in order of time.
class WitnessCounter {
 public:
  explicit WitnessCounter(const WitnessStatsQuery& query) : query_(query) {}
  // False where a limit is reached; the entry is then not counted.
  bool Add(const WitnessEntry& entry);
  void AddUndecodable() { ++stats_.undecodable; }
  WitnessStats Take();

 private:
  WitnessInterval* IntervalOf(int64_t timestamp_ms);

  const WitnessStatsQuery query_;
  WitnessStats stats_;
  std::vector<float> totals_;
  std::vector<float> generations_;
};

}  // namespace ruvd::storage
