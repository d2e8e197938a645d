// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/witness/witness_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/storage/v1/witness.pb.h"
#include "storage/db/row_key.h"
#include "storage/limits.h"
#include "storage/row_text.h"

namespace ruvd::storage::witness {
namespace {

constexpr size_t kPrefixBytes = 2;
constexpr size_t kIdOffset = kPrefixBytes + sizeof(uint64_t);

constexpr char kRow[] = "a witness row";
constexpr char kEmbedding[] = "an embedding of a witness entry";

absl::Status CheckSizes(const WitnessEntry& entry) {
  const size_t message = entry.error ? entry.error->message.size() + entry.error->reason.size() : 0;
  size_t text = entry.session_id.size() + entry.embedded_by.size() + entry.routing.model.size() +
                entry.routing.route.size() + entry.model_used.size() + message;
  for (const std::string& adapter : entry.adapters) {
    text += adapter.size();
  }
  const size_t lists = std::max(
      {entry.adapters.size(), entry.retrieved_ids.size(), entry.routing.model_probs.size()});
  const size_t dimension = std::max(entry.query_embedding.size(), entry.response_embedding.size());
  if (text > limits::kMaxWitnessTextBytes || lists > limits::kMaxWitnessListItems ||
      dimension > limits::kMaxDimension) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "a witness entry has {} bytes of names, a list of {} items and an embedding of {} "
                 "values; the limits are {}, {} and {}",
                 text, lists, dimension, limits::kMaxWitnessTextBytes, limits::kMaxWitnessListItems,
                 limits::kMaxDimension);
  }
  return absl::OkStatus();
}

absl::Status CheckTexts(const WitnessEntry& entry) {
  constexpr char kEntry[] = "a witness entry";
  RETURN_IF_ERROR(
      ruvd::storage::CheckTexts(kEntry, {entry.request_id, entry.session_id, entry.routing.model,
                                         entry.routing.route, entry.model_used}));
  for (const std::string& adapter : entry.adapters) {
    RETURN_IF_ERROR(ruvd::storage::CheckTexts(kEntry, {adapter}));
  }
  return entry.error
             ? ruvd::storage::CheckTexts(kEntry, {entry.error->reason, entry.error->message})
             : absl::OkStatus();
}

bool ValuesInRange(const WitnessEntry& entry) {
  const WitnessLatency& l = entry.latency;
  for (const float ms : {l.embedding_ms, l.retrieval_ms, l.routing_ms, l.attention_ms,
                         l.generation_ms, l.total_ms, l.queue_ms}) {
    if (!(ms >= 0.0F) || std::isinf(ms)) {
      return false;
    }
  }
  return (!entry.quality || (*entry.quality >= 0.0F && *entry.quality <= 1.0F)) &&
         entry.timestamp_ms >= 0;
}

void WriteRecord(const WitnessEntry& entry, v1::WitnessRecord* row) {
  row->set_request_id(entry.request_id);
  row->set_session_id(entry.session_id);
  auto* routing = row->mutable_routing();
  routing->set_model(entry.routing.model);
  routing->set_context_size(entry.routing.context_size);
  routing->set_temperature(entry.routing.temperature);
  routing->set_top_p(entry.routing.top_p);
  routing->set_confidence(entry.routing.confidence);
  routing->set_route(entry.routing.route);
  routing->mutable_model_probs()->Add(entry.routing.model_probs.begin(),
                                      entry.routing.model_probs.end());
  row->set_model_used(entry.model_used);
  if (entry.quality) {
    row->set_quality(*entry.quality);
  }
  auto* latency = row->mutable_latency();
  latency->set_embedding_ms(entry.latency.embedding_ms);
  latency->set_retrieval_ms(entry.latency.retrieval_ms);
  latency->set_routing_ms(entry.latency.routing_ms);
  latency->set_attention_ms(entry.latency.attention_ms);
  latency->set_generation_ms(entry.latency.generation_ms);
  latency->set_total_ms(entry.latency.total_ms);
  latency->set_queue_ms(entry.latency.queue_ms);
  for (const RetrievedId& id : entry.retrieved_ids) {
    row->add_retrieved_ids(std::string(AsText(id)));
  }
  for (const std::string& adapter : entry.adapters) {
    row->add_adapters(adapter);
  }
  row->set_timestamp_ms(entry.timestamp_ms);
  if (entry.error) {
    row->mutable_error()->set_reason(entry.error->reason);
    row->mutable_error()->set_message(entry.error->message);
  }
  row->set_prompt_tokens(entry.prompt_tokens);
  row->set_completion_tokens(entry.completion_tokens);
  row->set_memory_entries(entry.memory_entries);
  row->set_memory_share(entry.memory_share);
  row->set_embedded_by(entry.embedded_by);
  row->set_of_user(entry.of_user || !entry.user_id.empty());
}

void ReadLatency(const v1::WitnessLatency& row, WitnessLatency* latency) {
  *latency = {.embedding_ms = row.embedding_ms(),
              .retrieval_ms = row.retrieval_ms(),
              .routing_ms = row.routing_ms(),
              .attention_ms = row.attention_ms(),
              .generation_ms = row.generation_ms(),
              .total_ms = row.total_ms(),
              .queue_ms = row.queue_ms()};
}

void ReadRouting(const v1::WitnessRouting& row, WitnessRouting* routing) {
  *routing = {.model = row.model(),
              .context_size = row.context_size(),
              .temperature = row.temperature(),
              .top_p = row.top_p(),
              .confidence = row.confidence(),
              .model_probs = {row.model_probs().begin(), row.model_probs().end()},
              .route = row.route()};
}

absl::StatusOr<WitnessEntry> ReadRecord(const v1::WitnessRecord& row) {
  WitnessEntry entry;
  entry.request_id = row.request_id();
  entry.session_id = row.session_id();
  ReadRouting(row.routing(), &entry.routing);
  entry.model_used = row.model_used();
  if (row.has_quality()) {
    entry.quality = row.quality();
  }
  ReadLatency(row.latency(), &entry.latency);
  for (const std::string& bytes : row.retrieved_ids()) {
    RetrievedId id;
    if (bytes.size() != id.size()) {
      return CorruptRow(kRow);
    }
    std::memcpy(id.data(), bytes.data(), id.size());
    entry.retrieved_ids.push_back(id);
  }
  entry.adapters.assign(row.adapters().begin(), row.adapters().end());
  entry.timestamp_ms = row.timestamp_ms();
  if (row.has_error()) {
    entry.error = {row.error().reason(), row.error().message()};
  }
  entry.prompt_tokens = row.prompt_tokens();
  entry.completion_tokens = row.completion_tokens();
  entry.memory_entries = row.memory_entries();
  entry.memory_share = row.memory_share();
  entry.embedded_by = row.embedded_by();
  entry.of_user = row.of_user();
  if (!CheckEntry(entry).ok()) {
    return CorruptRow(kRow);
  }
  return entry;
}

void WriteEmbeddings(const WitnessEntry& entry, v1::WitnessEmbeddings* row) {
  row->mutable_query()->Add(entry.query_embedding.begin(), entry.query_embedding.end());
  row->mutable_response()->Add(entry.response_embedding.begin(), entry.response_embedding.end());
}

absl::Status ReadEmbeddings(const v1::WitnessEmbeddings& row, WitnessEntry* entry) {
  if (static_cast<size_t>(std::max(row.query_size(), row.response_size())) >
      limits::kMaxDimension) {
    return CorruptRow(kEmbedding);
  }
  entry->query_embedding.assign(row.query().begin(), row.query().end());
  entry->response_embedding.assign(row.response().begin(), row.response().end());
  return absl::OkStatus();
}

bool IsRecordKey(std::string_view key) {
  return key.starts_with(kRecordPrefix) && key.size() > kIdOffset &&
         key.size() <= kIdOffset + limits::kMaxResponseIdBytes;
}

}  // namespace

std::string RecordKey(int64_t timestamp_ms, std::string_view request_id) {
  return RowKey()
      .Text(kRecordPrefix)
      .U64(static_cast<uint64_t>(timestamp_ms))
      .Text(request_id)
      .Take();
}

std::string EmbeddingsKey(std::string_view record_key) {
  return std::string(kEmbeddingsPrefix).append(record_key.substr(kPrefixBytes));
}

std::string RecordKeyBeside(std::string_view embeddings_key) {
  return std::string(kRecordPrefix).append(embeddings_key.substr(kPrefixBytes));
}

std::string IdKey(std::string_view request_id) {
  return std::string(kIdPrefix).append(request_id);
}

std::string RecordKeyAt(int64_t timestamp_ms) {
  return RecordKey(std::max<int64_t>(timestamp_ms, 0), "");
}

int64_t TimeOfRecordKey(std::string_view record_key) {
  const std::optional<uint64_t> time = ReadKeyU64(record_key, kPrefixBytes);
  return time ? static_cast<int64_t>(*time) : -1;
}

std::string_view IdOfRecordKey(std::string_view record_key) {
  return record_key.substr(std::min(record_key.size(), kIdOffset));
}

absl::Status CheckEntry(const WitnessEntry& entry) {
  if (entry.request_id.empty() || entry.request_id.size() > limits::kMaxResponseIdBytes ||
      !ValuesInRange(entry)) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "a witness entry has a request id of {} bytes and a time of {} ms; use an id of 1 to {} "
        "bytes, a time since 1970, times not negative and a quality from 0 to 1",
        entry.request_id.size(), entry.timestamp_ms, limits::kMaxResponseIdBytes);
  }
  RETURN_IF_ERROR(CheckSizes(entry));
  return CheckTexts(entry);
}

std::string EncodeRecord(const WitnessEntry& entry) {
  v1::WitnessRecord row;
  WriteRecord(entry, &row);
  return row.SerializeAsString();
}

std::string EncodeEmbeddings(const WitnessEntry& entry) {
  v1::WitnessEmbeddings row;
  WriteEmbeddings(entry, &row);
  return row.SerializeAsString();
}

absl::StatusOr<WitnessEntry> DecodeRecord(std::string_view bytes) {
  ASSIGN_OR_RETURN(const auto row, ParseRow<v1::WitnessRecord>(bytes, kRow));
  return ReadRecord(row);
}

absl::Status DecodeEmbeddings(std::string_view bytes, WitnessEntry* entry) {
  ASSIGN_OR_RETURN(const auto row, ParseRow<v1::WitnessEmbeddings>(bytes, kEmbedding));
  return ReadEmbeddings(row, entry);
}

std::string EncodeCount(uint64_t records) {
  return ByteWriter().Write(records).Take();
}

absl::StatusOr<uint64_t> ReadCount(const Database& database) {
  const absl::StatusOr<std::string> row = database.Get(ColumnFamily::kWitness, kCountKey);
  if (absl::IsNotFound(row.status())) {
    return 0;
  }
  RETURN_IF_ERROR(row.status());
  ByteReader reader(AsBytes(*row));
  const auto count = reader.Read<uint64_t>();
  return count && reader.remaining() == 0 ? absl::StatusOr<uint64_t>(*count)
                                          : CorruptRow("the count of witness entries");
}

std::string EncodeArchived(const WitnessEntry& entry) {
  v1::ArchivedWitness row;
  WriteRecord(entry, row.mutable_record());
  WriteEmbeddings(entry, row.mutable_embeddings());
  return row.SerializeAsString();
}

absl::StatusOr<WitnessEntry> DecodeArchived(std::string_view bytes) {
  ASSIGN_OR_RETURN(const auto row,
                   ParseRow<v1::ArchivedWitness>(bytes, "an archived witness entry"));
  ASSIGN_OR_RETURN(WitnessEntry entry, ReadRecord(row.record()));
  RETURN_IF_ERROR(ReadEmbeddings(row.embeddings(), &entry));
  return entry;
}

std::string EncodeExpiry(const Expiry& expiry) {
  v1::WitnessExpiry row;
  row.set_file(expiry.file);
  row.set_first_key(expiry.first_key);
  row.set_last_key(expiry.last_key);
  return row.SerializeAsString();
}

absl::StatusOr<Expiry> DecodeExpiry(std::string_view bytes) {
  constexpr char kExpiry[] = "an expiry of witness entries";
  ASSIGN_OR_RETURN(const auto row, ParseRow<v1::WitnessExpiry>(bytes, kExpiry));
  // A name with a slash could point outside the archive's folder.
  if (!IsRecordKey(row.first_key()) || !IsRecordKey(row.last_key()) ||
      row.first_key() > row.last_key() || row.file().size() > limits::kMaxResponseIdBytes ||
      row.file().find('/') != std::string::npos) {
    return CorruptRow(kExpiry);
  }
  return Expiry{row.file(), row.first_key(), row.last_key()};
}

}  // namespace ruvd::storage::witness
