// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "ruvd/pattern/v1/pattern.pb.h"
#include "storage/patterns/pattern_store.h"

// Between the messages of ruvd.pattern.v1 and the pattern store. Every check of a caller's filter
// and paging is here; what a pattern may be is the store's to say.
namespace ruvd::api {

// INVALID_ARGUMENT naming the condition that is wrong.
absl::StatusOr<storage::PatternFilter> ReadPatternFilter(const pattern::v1::PatternFilter& message);

// Without the query, which is there. INVALID_ARGUMENT for none, for numbers out of range and for
// banks that disagree.
absl::StatusOr<storage::PatternSearchOptions> ReadPatternSearch(
    const pattern::v1::SearchPatternsRequest& message);

// Patterns of a page: what the caller asks for, within the limits and, where `with_embedding` is
// set, so that the page fits limits::kMaxPageBytes.
uint32_t PatternPageSize(const pattern::v1::ListPatternsRequest& message, uint32_t dimension);

// Adds the embedding to what WritePattern wrote.
void WriteEmbedding(const storage::Pattern& pattern, pattern::v1::Pattern* message);

}  // namespace ruvd::api
