// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/paired.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "base/status.h"

namespace ruvd::bench {

Interval Bootstrap(std::span<const double> values, uint64_t seed) {
  std::vector<size_t> documents(values.size());
  std::iota(documents.begin(), documents.end(), size_t{0});
  return BootstrapDocuments(values, documents, seed);
}

Interval BootstrapDocuments(std::span<const double> values, std::span<const size_t> documents,
                            uint64_t seed) {
  constexpr size_t kSamples = 10'000;
  constexpr size_t kTail = kSamples / 40;  // 2.5 %
  struct Document {
    double sum = 0;
    double count = 0;
  };
  std::map<size_t, Document> by_number;
  for (size_t i = 0; i < values.size(); ++i) {
    by_number[documents[i]].sum += values[i];
    by_number[documents[i]].count += 1;
  }
  if (values.empty()) {
    return {};
  }
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  if (by_number.size() < kMinDocuments) {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    return {.mean = mean, .low = -kInfinite, .high = kInfinite};
  }
  std::vector<Document> all;
  for (const auto& [number, document] : by_number) {
    all.push_back(document);
  }
  Random random(seed);
  std::vector<double> means;
  for (size_t sample = 0; sample < kSamples; ++sample) {
    Document drawn;
    for (size_t i = 0; i < all.size(); ++i) {
      const Document& document = all[random.Below(all.size())];
      drawn.sum += document.sum;
      drawn.count += document.count;
    }
    means.push_back(drawn.sum / drawn.count);
  }
  std::ranges::sort(means);
  return {.mean = mean, .low = means[kTail], .high = means[kSamples - 1 - kTail]};
}

nlohmann::json ToJson(const Interval& interval) {
  // JSON has no infinity: null.
  const auto bound = [](double value) {
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
  };
  return {{"mean", interval.mean}, {"low", bound(interval.low)}, {"high", bound(interval.high)}};
}

Interval IntervalIn(const nlohmann::json& json) {
  const auto bound = [&](const char* key, double infinite) {
    const nlohmann::json& value = json.at(key);
    return value.is_null() ? infinite : value.get<double>();
  };
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  return {.mean = json.at("mean").get<double>(),
          .low = bound("low", -kInfinite),
          .high = bound("high", kInfinite)};
}

std::string ToText(const Interval& interval) {
  return fmt::format("{:+.3f} ({:+.3f} to {:+.3f})", interval.mean, interval.low, interval.high);
}

absl::StatusOr<std::unique_ptr<ResultsFile>> ResultsFile::Create(const std::string& path) {
  std::unique_ptr<AtomicFile> file;
  if (!path.empty()) {
    ASSIGN_OR_RETURN(file, AtomicFile::Create(path));
  }
  return std::unique_ptr<ResultsFile>(new ResultsFile(std::move(file)));
}

absl::Status ResultsFile::Write(const nlohmann::json& results) {
  if (file_ == nullptr) {
    return absl::OkStatus();
  }
  const std::string text = results.dump(1) + '\n';
  RETURN_IF_ERROR(file_->Append(AsBytes(text)));
  return file_->Commit();
}

}  // namespace ruvd::bench
