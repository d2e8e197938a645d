// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"

namespace ruvd::bench {

// The mean of a sample and its 95 % interval by the percentile bootstrap.
struct Interval {
  double mean = 0;
  double low = 0;
  double high = 0;
};

// With fewer documents nothing is known about how documents differ: a bootstrap of one document has
// no width at all.
inline constexpr size_t kMinDocuments = 5;

// `values` holds one value for each document (or another unit that is independent of the others);
// they are resampled 10,000 times. The bounds are infinite for fewer than kMinDocuments; an empty
// sample gives zeros.
Interval Bootstrap(std::span<const double> values, uint64_t seed = 1);

// Does the same for values that are not independent, one for each crop of a document: whole
// documents are resampled. documents[i] is any number that names the document of values[i].
Interval BootstrapDocuments(std::span<const double> values, std::span<const size_t> documents,
                            uint64_t seed = 1);

// {"mean": ..., "low": ..., "high": ...}; an infinite bound is null.
nlohmann::json ToJson(const Interval& interval);
// Reads what ToJson wrote.
Interval IntervalIn(const nlohmann::json& json);

// "-0.12 (-0.14 to -0.10)"
std::string ToText(const Interval& interval);

// The file of an experiment's results. It is opened before the experiment begins, so that a path
// that cannot be written is found out first, and appears only when it is whole.
class ResultsFile {
 public:
  // An empty path means that results are written nowhere. Errors are FILE_UNWRITABLE and DISK_FULL.
  static absl::StatusOr<std::unique_ptr<ResultsFile>> Create(const std::string& path);
  // May be called once. Fails as above when writing or closing fails.
  absl::Status Write(const nlohmann::json& results);

 private:
  explicit ResultsFile(std::unique_ptr<AtomicFile> file) : file_(std::move(file)) {}
  std::unique_ptr<AtomicFile> file_;  // null: nowhere
};

}  // namespace ruvd::bench
