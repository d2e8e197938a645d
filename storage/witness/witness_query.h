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

namespace ruvd::limits {
// The entries that one query by similarity embeds because their requests did not: about a tenth of
// a second each for a prompt of usual length.
inline constexpr size_t kMaxLateEmbeddings = 256;
}  // namespace ruvd::limits

namespace ruvd::storage {

enum class WitnessOutcome : uint8_t { kAny, kOk, kFailed };

// Selects the entries that meet every condition that is set. An entry without a quality meets no
// condition on quality.
struct WitnessFilter {
  int64_t from_ms = 0;                // inclusive
  std::optional<int64_t> to_ms = {};  // exclusive
  std::optional<float> min_quality = {};
  std::optional<float> max_quality = {};
  std::optional<float> min_total_ms = {};
  std::optional<float> max_total_ms = {};
  WitnessOutcome outcome = WitnessOutcome::kAny;
  std::string session_id = {};    // empty: any; the same holds below
  std::string model = {};         // the model that generated
  std::string error_reason = {};  // the reason of failed entries
};

bool Matches(const WitnessFilter& filter, const WitnessEntry& entry);

// Called every few rows and after every embedding that a query computes; when it returns true, the
// query ends with CANCELLED. Empty: never cancelled.
using WitnessCancelled = std::function<bool()>;

struct WitnessQuery {
  WitnessFilter filter = {};
  // If set, the entries whose query embeddings are most similar to this one (exact cosine) come
  // first. Entries without an embedding, or with one of another model or size, are left out. Such a
  // query has no pages.
  std::span<const float> similar_to = {};
  std::string embedded_by = {};  // id of the model package that made similar_to
  // Returns the query embedding of an entry that was recorded without one, or an empty vector if
  // there is nothing to compute it from, which must be quick. After limits::kMaxLateEmbeddings
  // embeddings it is asked no more; if entries are left, the page is truncated. Null: such entries
  // are left out.
  std::function<std::vector<float>(const WitnessEntry&)> embed = nullptr;
  float min_similarity = -1;
  size_t limit = 100;  // 1 to limits::kMaxListPageSize
  bool oldest_first = false;
  std::string page_token = {};  // the next_page_token of the former page
  WitnessCancelled cancelled = {};
};

struct WitnessHit {
  WitnessEntry entry;  // its embeddings are filled in only for a search by similarity
  std::optional<float> similarity = {};
};

struct WitnessPage {
  std::vector<WitnessHit> hits;
  std::string next_page_token;  // empty on the last page
  // A search by similarity looked at limits::kMaxWitnessScan entries, or embedded
  // limits::kMaxLateEmbeddings of them, and more are left: use a shorter time range.
  bool truncated = false;
  uint64_t undecodable = 0;  // rows that were skipped
};

// Returns INVALID_ARGUMENT for limits, similarities or page tokens out of range.
absl::Status CheckQuery(const WitnessQuery& query);

struct WitnessStatsQuery {
  WitnessFilter filter = {};
  // If not 0, the length of the trend's intervals, which are aligned to the epoch.
  int64_t interval_ms = 0;
  WitnessCancelled cancelled = {};
};

// Exact nearest-rank percentiles over all counted entries; 0 without entries.
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
  double mean_quality = 0;  // of the rated entries
};

struct WitnessStats {
  uint64_t entries = 0;
  uint64_t failed = 0;
  uint64_t rated = 0;
  double mean_quality = 0;    // of the rated entries
  LatencySummary total;       // of all entries
  LatencySummary generation;  // of the entries that did not fail
  std::map<std::string, uint64_t> by_model;
  std::map<std::string, uint64_t> by_error;  // failed entries by reason
  std::vector<WitnessInterval> intervals;    // intervals with entries, oldest first
  // Only the first limits::kMaxWitnessScan entries or limits::kMaxWitnessIntervals intervals are
  // counted: use a shorter time range.
  bool truncated = false;
  uint64_t undecodable = 0;  // rows that were skipped
};

// Counts entries one after another, in order of time.
class WitnessCounter {
 public:
  explicit WitnessCounter(const WitnessStatsQuery& query) : query_(query) {}
  // Returns false, without counting the entry, when a limit is reached.
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
