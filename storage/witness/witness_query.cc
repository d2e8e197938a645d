// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/witness/witness_query.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/limits.h"

namespace ruvd::storage {
namespace {

bool Within(const std::optional<float>& value, const std::optional<float>& low,
            const std::optional<float>& high) {
  if (!low && !high) {
    return true;
  }
  return value && (!low || *value >= *low) && (!high || *value <= *high);
}

bool SameOrAny(const std::string& wanted, std::string_view value) {
  return wanted.empty() || wanted == value;
}

// Returns the nearest-rank percentile: the smallest value v such that at least `percent` of all
// values are at most v.
float Percentile(const std::vector<float>& sorted, size_t percent) {
  const size_t rank = (percent * sorted.size() + 99) / 100;  // rounded up
  return sorted[std::max<size_t>(rank, 1) - 1];
}

LatencySummary Summarise(std::vector<float> values) {
  if (values.empty()) {
    return {};
  }
  std::sort(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {.mean_ms = static_cast<float>(sum / static_cast<double>(values.size())),
          .p50_ms = Percentile(values, 50),
          .p90_ms = Percentile(values, 90),
          .p99_ms = Percentile(values, 99),
          .max_ms = values.back()};
}

// Adds one quality to the mean of the `rated` ones before it.
void CountQuality(const std::optional<float>& quality, uint64_t* rated, double* mean) {
  if (quality) {
    ++*rated;
    *mean += (static_cast<double>(*quality) - *mean) / static_cast<double>(*rated);
  }
}

}  // namespace

bool Matches(const WitnessFilter& filter, const WitnessEntry& entry) {
  const bool failed = entry.error.has_value();
  if (entry.timestamp_ms < filter.from_ms ||
      (filter.to_ms && entry.timestamp_ms >= *filter.to_ms) ||
      (filter.outcome == WitnessOutcome::kOk && failed) ||
      (filter.outcome == WitnessOutcome::kFailed && !failed)) {
    return false;
  }
  return Within(entry.quality, filter.min_quality, filter.max_quality) &&
         Within(entry.latency.total_ms, filter.min_total_ms, filter.max_total_ms) &&
         SameOrAny(filter.session_id, entry.session_id) &&
         SameOrAny(filter.model, entry.model_used) &&
         SameOrAny(filter.error_reason, failed ? entry.error->reason : "");
}

absl::Status CheckQuery(const WitnessQuery& query) {
  const auto finite = [](float value) { return std::isfinite(value); };
  if (query.limit == 0 || query.limit > limits::kMaxListPageSize) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a page cannot have {} witness entries; ask for 1 to {}", query.limit,
                 limits::kMaxListPageSize);
  }
  if (query.similar_to.empty()) {
    return absl::OkStatus();
  }
  if (query.similar_to.size() > limits::kMaxDimension || !std::isfinite(query.min_similarity) ||
      !std::all_of(query.similar_to.begin(), query.similar_to.end(), finite) ||
      !query.page_token.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a search by similarity takes an embedding of at most {} finite values and no "
                 "page token; narrow the time instead of paging",
                 limits::kMaxDimension);
  }
  return absl::OkStatus();
}

WitnessInterval* WitnessCounter::IntervalOf(int64_t timestamp_ms) {
  const int64_t start = timestamp_ms - timestamp_ms % query_.interval_ms;
  if (stats_.intervals.empty() || stats_.intervals.back().start_ms != start) {
    if (stats_.intervals.size() >= limits::kMaxWitnessIntervals) {
      return nullptr;
    }
    stats_.intervals.push_back({.start_ms = start});
  }
  return &stats_.intervals.back();
}

bool WitnessCounter::Add(const WitnessEntry& entry) {
  WitnessInterval* interval = query_.interval_ms > 0 ? IntervalOf(entry.timestamp_ms) : nullptr;
  if (stats_.entries >= limits::kMaxWitnessScan ||
      (query_.interval_ms > 0 && interval == nullptr)) {
    stats_.truncated = true;
    return false;
  }
  const bool failed = entry.error.has_value();
  ++stats_.entries;
  stats_.failed += failed ? 1 : 0;
  CountQuality(entry.quality, &stats_.rated, &stats_.mean_quality);
  ++stats_.by_model[entry.model_used];
  totals_.push_back(entry.latency.total_ms);
  if (failed) {
    ++stats_.by_error[entry.error->reason];
  } else {
    generations_.push_back(entry.latency.generation_ms);
  }
  if (interval != nullptr) {
    ++interval->entries;
    interval->failed += failed ? 1 : 0;
    CountQuality(entry.quality, &interval->rated, &interval->mean_quality);
  }
  return true;
}

WitnessStats WitnessCounter::Take() {
  stats_.total = Summarise(std::move(totals_));
  stats_.generation = Summarise(std::move(generations_));
  return std::move(stats_);
}

}  // namespace ruvd::storage
