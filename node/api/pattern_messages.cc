// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/pattern_messages.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/api/messages.h"
#include "node/limits.h"

namespace ruvd::api {
namespace {

constexpr uint32_t kDefaultResults = 10;
constexpr uint32_t kDefaultPage = 100;
constexpr int32_t kAllBanks = -1;

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, format,
               std::forward<Args>(args)...);
}

absl::Status ReadTiers(const pattern::v1::PatternFilter& message, storage::PatternFilter* filter) {
  for (const int tier : message.tiers()) {
    if (tier <= pattern::v1::SHARING_TIER_UNSPECIFIED || !pattern::v1::SharingTier_IsValid(tier)) {
      return Invalid(
          "filter.tiers has {}, which is not a sharing tier; use private, masked, dp or public",
          tier);
    }
    const auto read = static_cast<storage::SharingTier>(tier);
    if (std::ranges::find(filter->tiers, read) == filter->tiers.end()) {
      filter->tiers.push_back(read);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadTimes(const pattern::v1::PatternFilter& message, storage::PatternFilter* filter) {
  if (message.has_created_from_ms()) {
    filter->created_from_ms = message.created_from_ms();
  }
  if (message.has_created_before_ms()) {
    filter->created_before_ms = message.created_before_ms();
  }
  const int64_t from = filter->created_from_ms.value_or(0);
  const int64_t before = filter->created_before_ms.value_or(limits::kMaxFilterTimeMs);
  if (from < 0 || before < 0 || from > limits::kMaxFilterTimeMs ||
      before > limits::kMaxFilterTimeMs) {
    return Invalid(
        "filter.created_from_ms and created_before_ms are milliseconds since 1970, 0 to "
        "{}",
        limits::kMaxFilterTimeMs);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<storage::PatternFilter> ReadPatternFilter(
    const pattern::v1::PatternFilter& message) {
  storage::PatternFilter filter;
  if (message.has_bank()) {
    filter.bank = message.bank();
  }
  if (message.task().size() > limits::kMaxTaskBytes) {
    return Invalid("filter.task has {} bytes, but a task has at most {}", message.task().size(),
                   limits::kMaxTaskBytes);
  }
  filter.task = message.task();
  RETURN_IF_ERROR(ReadTiers(message, &filter));
  if (!message.origin().empty()) {
    ASSIGN_OR_RETURN(filter.origin, ReadOrigin(message.origin()));
  }
  if (message.has_min_quality()) {
    if (!(message.min_quality() >= 0 && message.min_quality() <= 1)) {
      return Invalid("filter.min_quality is {}; it must be from 0 to 1", message.min_quality());
    }
    filter.min_quality = message.min_quality();
  }
  RETURN_IF_ERROR(ReadTimes(message, &filter));
  return filter;
}

absl::StatusOr<storage::PatternSearchOptions> ReadPatternSearch(
    const pattern::v1::SearchPatternsRequest& message) {
  storage::PatternSearchOptions options;
  if (message.query_case() == pattern::v1::SearchPatternsRequest::QUERY_NOT_SET ||
      (message.has_text() && message.text().empty())) {
    return Invalid("there is nothing to search for; set a text that is not empty, or an embedding");
  }
  const uint32_t k = message.k() == 0 ? kDefaultResults : message.k();
  if (k > limits::kMaxSearchHits || message.ef() > limits::kMaxSearchEf) {
    return Invalid("k is {} and ef is {}; use at most {} and {}", k, message.ef(),
                   limits::kMaxSearchHits, limits::kMaxSearchEf);
  }
  options.k = k;
  options.ef = message.ef();
  ASSIGN_OR_RETURN(options.filter, ReadPatternFilter(message.filter()));
  if (message.has_bank()) {
    if (message.bank() < kAllBanks) {
      return Invalid("bank is {}; use a bank, or {} for all", message.bank(), kAllBanks);
    }
    if (message.filter().has_bank() && int64_t{message.filter().bank()} != message.bank()) {
      return Invalid("bank is {} and filter.bank is {}; set one of them", message.bank(),
                     message.filter().bank());
    }
    if (message.bank() != kAllBanks) {
      options.filter.bank = static_cast<uint32_t>(message.bank());
    }
  }
  if (message.has_min_similarity()) {
    if (!(message.min_similarity() >= -1 && message.min_similarity() <= 1)) {
      return Invalid("min_similarity is {}; it must be from -1 to 1", message.min_similarity());
    }
    options.min_similarity = message.min_similarity();
  }
  return options;
}

uint32_t PatternPageSize(const pattern::v1::ListPatternsRequest& message, uint32_t dimension) {
  uint32_t size = message.page_size() == 0 ? kDefaultPage : message.page_size();
  size = std::min(size, limits::kMaxListPageSize);
  if (message.with_embedding()) {
    const auto bytes = static_cast<uint32_t>(sizeof(float)) * std::max(dimension, 1U);
    size = std::min(size, std::max(1U, limits::kMaxPageBytes / bytes));
  }
  return size;
}

void WriteEmbedding(const storage::Pattern& pattern, pattern::v1::Pattern* message) {
  message->mutable_embedding()->mutable_values()->Assign(pattern.embedding.begin(),
                                                         pattern.embedding.end());
}

}  // namespace ruvd::api
