// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "ruvd/pattern/v1/pattern.pb.h"
#include "storage/patterns/pattern_store.h"

// Conversions between the messages of ruvd.pattern.v1 and the pattern store. All checks of a
// caller's filter and paging are here; the store checks patterns themselves.
namespace ruvd::api {

// Reads a filter. INVALID_ARGUMENT names the wrong condition.
absl::StatusOr<storage::PatternFilter> ReadPatternFilter(const pattern::v1::PatternFilter& message);

// Reads the options of a search, but not its query. INVALID_ARGUMENT if the query is missing, if a
// number is out of range, or if bank and filter.bank differ.
absl::StatusOr<storage::PatternSearchOptions> ReadPatternSearch(
    const pattern::v1::SearchPatternsRequest& message);

// Returns the number of patterns of a page: the requested number within the limits. If
// `with_embedding` is set, the page also fits limits::kMaxPageBytes.
uint32_t PatternPageSize(const pattern::v1::ListPatternsRequest& message, uint32_t dimension);

// Writes a pattern without its embedding.
void WritePattern(const storage::Pattern& pattern, pattern::v1::Pattern* message);
// Adds the embedding to a message that WritePattern wrote.
void WriteEmbedding(const storage::Pattern& pattern, pattern::v1::Pattern* message);

}  // namespace ruvd::api
