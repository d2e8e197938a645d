// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/pattern_messages.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "node/api/bad_request.h"
#include "node/api/message_times.h"
#include "node/api/messages.h"
#include "node/limits.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::api {
namespace {

constexpr uint32_t kDefaultResults = 10;
constexpr uint32_t kDefaultPage = 100;

absl::Status ReadTiers(const pattern::v1::PatternFilter& message, storage::PatternFilter* filter) {
  for (const int tier : message.tiers()) {
    if (tier <= privacy::v1::SHARING_TIER_UNSPECIFIED || !privacy::v1::SharingTier_IsValid(tier)) {
      return BadField(
          "filter.tiers",
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
  if (message.has_created_from()) {
    ASSIGN_OR_RETURN(filter->created_from_ms,
                     ReadTime("filter.created_from", message.created_from()));
  }
  if (message.has_created_before()) {
    ASSIGN_OR_RETURN(filter->created_before_ms,
                     ReadTime("filter.created_before", message.created_before()));
  }
  return absl::OkStatus();
}

// The message numbers standings from 1, because 0 is "not set".
pattern::v1::PatternStanding WireStanding(storage::PatternStanding standing) {
  static_assert(static_cast<int>(storage::PatternStanding::kOwn) + 1 ==
                pattern::v1::PATTERN_STANDING_OWN);
  static_assert(static_cast<int>(storage::kLastStanding) + 1 ==
                pattern::v1::PATTERN_STANDING_NO_ADAPTER);
  return static_cast<pattern::v1::PatternStanding>(static_cast<int>(standing) + 1);
}

}  // namespace

absl::StatusOr<storage::PatternFilter> ReadPatternFilter(
    const pattern::v1::PatternFilter& message) {
  storage::PatternFilter filter;
  if (message.has_bank()) {
    filter.bank = message.bank();
  }
  if (message.task().size() > limits::kMaxTaskBytes) {
    return BadField("filter.task", "filter.task has {} bytes, but a task has at most {}",
                    message.task().size(), limits::kMaxTaskBytes);
  }
  filter.task = message.task();
  RETURN_IF_ERROR(ReadTiers(message, &filter));
  if (!message.origin().empty()) {
    ASSIGN_OR_RETURN(filter.origin, ReadNodeId("filter.origin", message.origin()));
  }
  if (message.has_min_quality()) {
    if (!(message.min_quality() >= 0 && message.min_quality() <= 1)) {
      return BadField("filter.min_quality", "filter.min_quality is {}; it must be from 0 to 1",
                      message.min_quality());
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
    return BadField(
        "query", "there is nothing to search for; set a text that is not empty, or an embedding");
  }
  RETURN_IF_ERROR(CheckNotZero("k", message.has_k(), message.k()));
  RETURN_IF_ERROR(CheckNotZero("ef", message.has_ef(), message.ef()));
  options.k = message.has_k() ? message.k() : kDefaultResults;
  options.ef = message.ef();
  RETURN_IF_ERROR(CheckBetween("k", options.k, 1, limits::kMaxSearchHits));
  RETURN_IF_ERROR(CheckBetween("ef", options.ef, 0, limits::kMaxSearchEf));
  ASSIGN_OR_RETURN(options.filter, ReadPatternFilter(message.filter()));
  if (message.has_bank()) {
    if (message.filter().has_bank() && message.filter().bank() != message.bank()) {
      return BadField("bank", "bank is {} and filter.bank is {}; set one of them", message.bank(),
                      message.filter().bank());
    }
    options.filter.bank = message.bank();
  }
  if (message.has_min_similarity()) {
    if (!(message.min_similarity() >= -1 && message.min_similarity() <= 1)) {
      return BadField("min_similarity", "min_similarity is {}; it must be from -1 to 1",
                      message.min_similarity());
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

void WritePattern(const storage::Pattern& pattern, pattern::v1::Pattern* message) {
  message->set_id(ToHex(pattern.id));
  message->set_bank(pattern.bank);
  message->set_task(pattern.task);
  message->set_tier(static_cast<privacy::v1::SharingTier>(pattern.tier));
  message->set_quality(pattern.quality);
  message->set_uses(pattern.uses);
  message->set_examples(pattern.examples);
  message->set_origin(ToHex(pattern.origin));
  SetTime(pattern.created_ms, [&] { return message->mutable_create_time(); });
  message->set_adapter_name(pattern.adapter_name);
  message->set_adapter_version(pattern.adapter_version);
  message->set_dimension(static_cast<uint32_t>(pattern.embedding.size()));
  SetTime(pattern.updated_ms, [&] { return message->mutable_update_time(); });
  SetTime(pattern.expires_ms, [&] { return message->mutable_expire_time(); });
  SetTime(pattern.last_used_ms, [&] { return message->mutable_last_use_time(); });
  message->set_standing(WireStanding(pattern.standing));
}

void WriteEmbedding(const storage::Pattern& pattern, pattern::v1::Pattern* message) {
  message->mutable_embedding()->mutable_values()->Assign(pattern.embedding.begin(),
                                                         pattern.embedding.end());
}

}  // namespace ruvd::api
