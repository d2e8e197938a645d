// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// This file reads the witness log: walks over the records in order of time, newest or oldest first.

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/similarity/cosine.h"
#include "storage/witness/witness_log.h"
#include "storage/witness/witness_rows.h"

namespace ruvd::storage {
namespace {

// A range of record keys; the end is not included.
struct KeyRange {
  std::string start;
  std::string end;
};

KeyRange RangeOf(const WitnessFilter& filter) {
  return {witness::RecordKeyAt(filter.from_ms),
          filter.to_ms ? witness::RecordKeyAt(*filter.to_ms) : EndOfPrefix(witness::kRecordPrefix)};
}

// Makes the range continue after the record that a page token names.
absl::Status ApplyToken(const WitnessQuery& query, KeyRange* range) {
  if (query.page_token.empty()) {
    return absl::OkStatus();
  }
  const std::optional<std::string> key = FromHex(query.page_token);
  if (!key || !key->starts_with(witness::kRecordPrefix) || witness::IdOfRecordKey(*key).empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "this node did not give the page token; list from the start");
  }
  if (query.oldest_first) {
    range->start = std::max(range->start, *key + '\0');
  } else {
    range->end = std::min(range->end, *key);
  }
  return absl::OkStatus();
}

// The rows between two calls of `cancelled`: a few milliseconds.
constexpr size_t kRowsPerQuestion = 256;

// Asks every kRowsPerQuestion rows, and at once if `now`.
absl::Status CheckWanted(const WitnessCancelled& cancelled, size_t looked_at, bool now = false) {
  if (cancelled && (now || looked_at % kRowsPerQuestion == 0) && cancelled()) {
    return Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                 "the caller cancelled the query after {} witness entries", looked_at);
  }
  return absl::OkStatus();
}

bool MoreSimilar(const WitnessHit& a, const WitnessHit& b) {
  return *a.similarity > *b.similarity;
}

// Keeps the `limit` most similar hits in a heap whose front is the least similar.
void Keep(WitnessHit hit, size_t limit, std::vector<WitnessHit>* hits) {
  hits->push_back(std::move(hit));
  std::push_heap(hits->begin(), hits->end(), MoreSimilar);
  if (hits->size() > limit) {
    std::pop_heap(hits->begin(), hits->end(), MoreSimilar);
    hits->pop_back();
  }
}

}  // namespace

absl::StatusOr<WitnessPage> WitnessLog::Query(const WitnessQuery& query) const {
  RETURN_IF_ERROR(CheckQuery(query));
  return query.similar_to.empty() ? QueryByTime(query) : QueryBySimilarity(query);
}

absl::StatusOr<WitnessPage> WitnessLog::QueryByTime(const WitnessQuery& query) const {
  KeyRange range = RangeOf(query.filter);
  RETURN_IF_ERROR(ApplyToken(query, &range));
  WitnessPage page;
  if (range.start >= range.end) {
    return page;
  }
  std::string last_key;
  size_t looked_at = 0;
  const auto go_on = [&]() -> absl::StatusOr<bool> {
    RETURN_IF_ERROR(CheckWanted(query.cancelled, looked_at));
    if (looked_at++ >= limits::kMaxWitnessScan) {
      page.next_page_token = ToHex(AsBytes(last_key));
      return false;
    }
    return true;
  };
  const auto broken = [&](std::string_view key) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const bool more, go_on());
    if (more) {
      ++page.undecodable;
      last_key = key;
    }
    return more;
  };
  const auto look = [&](const RowView& row) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const bool more, go_on());
    if (!more) {
      return false;
    }
    absl::StatusOr<WitnessEntry> entry = witness::DecodeRecord(row.value);
    page.undecodable += entry.ok() ? 0 : 1;
    if (entry.ok() && Matches(query.filter, *entry)) {
      if (page.hits.size() >= query.limit) {
        page.next_page_token = ToHex(AsBytes(last_key));
        return false;
      }
      page.hits.push_back({.entry = *std::move(entry)});
    }
    last_key = row.key;
    return true;
  };
  RETURN_IF_ERROR(
      query.oldest_first
          ? database_.Scan(ColumnFamily::kWitness, range.start, range.end, look, broken)
          : database_.ScanBackward(ColumnFamily::kWitness, range.start, range.end, look, broken));
  return page;
}

absl::StatusOr<std::optional<WitnessHit>> WitnessLog::Compare(const WitnessQuery& query,
                                                              std::string_view record_key,
                                                              WitnessEntry entry,
                                                              size_t* late) const {
  if (entry.embedded_by != query.embedded_by) {
    return std::nullopt;
  }
  const absl::StatusOr<std::string> embeddings =
      database_.Get(ColumnFamily::kWitness, witness::EmbeddingsKey(record_key));
  if (absl::IsNotFound(embeddings.status())) {
    return std::nullopt;  // the entry expired during the scan
  }
  RETURN_IF_ERROR(embeddings.status());
  RETURN_IF_ERROR(witness::DecodeEmbeddings(*embeddings, &entry));
  if (entry.query_embedding.empty() && query.embed && !entry.error) {
    if (*late >= limits::kMaxLateEmbeddings) {
      *late = limits::kMaxLateEmbeddings + 1;  // says that entries were left
      return std::nullopt;
    }
    entry.query_embedding = query.embed(entry);
    *late += entry.query_embedding.empty() ? 0 : 1;
  }
  const std::optional<float> similarity =
      entry.query_embedding.size() == query.similar_to.size()
          ? CosineSimilarity(query.similar_to, entry.query_embedding)
          : std::nullopt;
  if (!similarity || *similarity < query.min_similarity) {
    return std::nullopt;
  }
  return WitnessHit{std::move(entry), similarity};
}

absl::StatusOr<WitnessPage> WitnessLog::QueryBySimilarity(const WitnessQuery& query) const {
  const KeyRange range = RangeOf(query.filter);
  WitnessPage page;
  if (range.start >= range.end) {
    return page;
  }
  size_t looked_at = 0;
  size_t late = 0;
  size_t late_at_question = 0;
  const auto look = [&](const RowView& row) -> absl::StatusOr<bool> {
    // An embedding takes longer than all rows between two questions.
    const bool embedded = std::exchange(late_at_question, late) != late;
    RETURN_IF_ERROR(CheckWanted(query.cancelled, looked_at, embedded));
    if (looked_at++ >= limits::kMaxWitnessScan) {
      page.truncated = true;
      return false;
    }
    absl::StatusOr<WitnessEntry> entry = witness::DecodeRecord(row.value);
    if (entry.ok() && !Matches(query.filter, *entry)) {
      return true;
    }
    auto hit = entry.ok() ? Compare(query, row.key, *std::move(entry), &late) : entry.status();
    if (!hit.ok()) {
      page.undecodable += 1;
    } else if (hit->has_value()) {
      Keep(**std::move(hit), query.limit, &page.hits);
    }
    return true;
  };
  const auto broken = [&](std::string_view) -> absl::StatusOr<bool> {
    ++page.undecodable;
    return true;
  };
  RETURN_IF_ERROR(
      database_.ScanBackward(ColumnFamily::kWitness, range.start, range.end, look, broken));
  page.truncated = page.truncated || late > limits::kMaxLateEmbeddings;
  std::sort_heap(page.hits.begin(), page.hits.end(), MoreSimilar);
  return page;
}

absl::StatusOr<WitnessStats> WitnessLog::Stats(const WitnessStatsQuery& query) const {
  if (query.interval_ms < 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "an interval of {} ms is not possible; use a positive one, or 0 for no trend",
                 query.interval_ms);
  }
  WitnessCounter counter(query);
  const KeyRange range = RangeOf(query.filter);
  size_t looked_at = 0;
  const auto count = [&](const RowView& row) -> absl::StatusOr<bool> {
    RETURN_IF_ERROR(CheckWanted(query.cancelled, looked_at++));
    const absl::StatusOr<WitnessEntry> entry = witness::DecodeRecord(row.value);
    if (!entry.ok()) {
      counter.AddUndecodable();
      return true;
    }
    return !Matches(query.filter, *entry) || counter.Add(*entry);
  };
  const auto broken = [&](std::string_view) -> absl::StatusOr<bool> {
    counter.AddUndecodable();
    return true;
  };
  if (range.start < range.end) {
    RETURN_IF_ERROR(database_.Scan(ColumnFamily::kWitness, range.start, range.end, count, broken));
  }
  return counter.Take();
}

}  // namespace ruvd::storage
