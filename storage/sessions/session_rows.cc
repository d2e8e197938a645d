// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/sessions/session_rows.h"

#include <algorithm>
#include <cmath>

#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/storage/v1/session.pb.h"
#include "storage/limits.h"
#include "storage/row_text.h"

namespace ruvd::storage::sessions {
namespace {

constexpr char kRow[] = "a session row";

void WriteQuantization(const CacheQuantization& quantization, v1::KvCacheReference* row) {
  if (const auto* tail = std::get_if<HighPrecisionTail>(&quantization)) {
    row->mutable_high_precision_tail()->set_tail_length(tail->tail_length);
    row->mutable_high_precision_tail()->set_precision(tail->precision);
  } else if (const auto* store = std::get_if<QuantizedStore>(&quantization)) {
    row->mutable_quantized_store()->set_precision(store->precision);
    row->mutable_quantized_store()->set_compression_ratio(store->compression_ratio);
  } else if (const auto* hybrid = std::get_if<HybridCache>(&quantization)) {
    row->mutable_hybrid()->set_tail_length(hybrid->tail_length);
    row->mutable_hybrid()->set_tail_precision(hybrid->tail_precision);
    row->mutable_hybrid()->set_store_precision(hybrid->store_precision);
  }
}

CacheQuantization ReadQuantization(const v1::KvCacheReference& row) {
  switch (row.quantization_case()) {
    case v1::KvCacheReference::kHighPrecisionTail:
      return HighPrecisionTail{row.high_precision_tail().tail_length(),
                               row.high_precision_tail().precision()};
    case v1::KvCacheReference::kQuantizedStore:
      return QuantizedStore{row.quantized_store().precision(),
                            row.quantized_store().compression_ratio()};
    case v1::KvCacheReference::kHybrid:
      return HybridCache{row.hybrid().tail_length(), row.hybrid().tail_precision(),
                         row.hybrid().store_precision()};
    case v1::KvCacheReference::QUANTIZATION_NOT_SET:
      break;
  }
  return std::monostate();
}

size_t TextBytes(const CacheQuantization& quantization) {
  if (const auto* tail = std::get_if<HighPrecisionTail>(&quantization)) {
    return tail->precision.size();
  }
  if (const auto* store = std::get_if<QuantizedStore>(&quantization)) {
    return store->precision.size();
  }
  const auto* hybrid = std::get_if<HybridCache>(&quantization);
  return hybrid == nullptr ? 0 : hybrid->tail_precision.size() + hybrid->store_precision.size();
}

size_t TextBytes(const SessionState& session) {
  size_t bytes = session.active_adapter.value_or("").size() + session.history_reference.size() +
                 session.embedded_by.size();
  if (session.kv_cache) {
    bytes += session.kv_cache->location.size() + TextBytes(session.kv_cache->quantization);
  }
  for (const auto& [key, value] : session.metadata) {
    bytes += key.size() + value.size();
  }
  return bytes;
}

absl::Status CheckTexts(const CacheQuantization& quantization) {
  if (const auto* tail = std::get_if<HighPrecisionTail>(&quantization)) {
    return ruvd::storage::CheckTexts(kRow, {tail->precision});
  }
  if (const auto* store = std::get_if<QuantizedStore>(&quantization)) {
    return ruvd::storage::CheckTexts(kRow, {store->precision});
  }
  const auto* hybrid = std::get_if<HybridCache>(&quantization);
  return hybrid == nullptr
             ? absl::OkStatus()
             : ruvd::storage::CheckTexts(kRow, {hybrid->tail_precision, hybrid->store_precision});
}

absl::Status CheckTexts(const SessionState& session) {
  RETURN_IF_ERROR(ruvd::storage::CheckTexts(
      kRow, {session.session_id, session.user_id.value_or(""), session.active_adapter.value_or(""),
             session.history_reference}));
  for (const auto& [key, value] : session.metadata) {
    RETURN_IF_ERROR(ruvd::storage::CheckTexts(kRow, {key, value}));
  }
  if (!session.kv_cache) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(ruvd::storage::CheckTexts(kRow, {session.kv_cache->location}));
  return CheckTexts(session.kv_cache->quantization);
}

bool ValuesInRange(const SessionState& session) {
  if (session.created_ms < 0 || session.last_active_ms < 0) {
    return false;
  }
  if (!session.kv_cache) {
    return true;
  }
  const KvCacheReference& cache = *session.kv_cache;
  const auto* store = std::get_if<QuantizedStore>(&cache.quantization);
  return cache.tier >= CacheTier::kHot && cache.tier <= CacheTier::kCold && cache.created_ms >= 0 &&
         (store == nullptr ||
          (std::isfinite(store->compression_ratio) && store->compression_ratio >= 0));
}

}  // namespace

std::string SessionKey(std::string_view session_id) {
  return std::string(kSessionPrefix).append(session_id);
}

absl::Status CheckSession(const SessionState& session) {
  const size_t user = session.user_id.value_or("x").size();
  if (session.session_id.empty() || session.session_id.size() > limits::kMaxStoredSessionIdBytes ||
      user == 0 || user > limits::kMaxUserIdBytes || !ValuesInRange(session)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a session has an id of {} bytes and a user id of {} bytes; use 1 to {} and 1 to "
                 "{}, times since 1970, a known cache tier and a finite compression ratio",
                 session.session_id.size(), user, limits::kMaxStoredSessionIdBytes,
                 limits::kMaxUserIdBytes);
  }
  const size_t text = TextBytes(session);
  if (text > limits::kMaxSessionTextBytes ||
      session.metadata.size() > limits::kMaxSessionMetadata ||
      session.context_embedding.size() > limits::kMaxDimension) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "a session has {} bytes of text, {} metadata entries and an embedding of {} "
                 "values; the limits "
                 "are {}, {} and {}",
                 text, session.metadata.size(), session.context_embedding.size(),
                 limits::kMaxSessionTextBytes, limits::kMaxSessionMetadata, limits::kMaxDimension);
  }
  return CheckTexts(session);
}

std::string EncodeSession(const SessionState& session) {
  v1::SessionState row;
  row.set_session_id(session.session_id);
  if (session.user_id) {
    row.set_user_id(*session.user_id);
  }
  row.mutable_context_embedding()->Add(session.context_embedding.begin(),
                                       session.context_embedding.end());
  row.set_embedded_by(session.embedded_by);
  if (session.kv_cache) {
    auto* cache = row.mutable_kv_cache();
    cache->set_tier(static_cast<uint32_t>(session.kv_cache->tier));
    cache->set_location(session.kv_cache->location);
    cache->set_cached_tokens(session.kv_cache->cached_tokens);
    cache->set_created_ms(session.kv_cache->created_ms);
    WriteQuantization(session.kv_cache->quantization, cache);
  }
  if (session.active_adapter) {
    row.set_active_adapter(*session.active_adapter);
  }
  row.set_turn_count(session.turn_count);
  row.set_history_reference(session.history_reference);
  row.set_created_ms(session.created_ms);
  row.set_last_active_ms(session.last_active_ms);
  row.mutable_metadata()->insert(session.metadata.begin(), session.metadata.end());
  return row.SerializeAsString();
}

absl::StatusOr<SessionState> DecodeSession(std::string_view bytes) {
  ASSIGN_OR_RETURN(const auto row, ParseRow<v1::SessionState>(bytes, kRow));
  SessionState session{
      .session_id = row.session_id(),
      .context_embedding = {row.context_embedding().begin(), row.context_embedding().end()},
      .embedded_by = row.embedded_by(),
      .turn_count = row.turn_count(),
      .history_reference = row.history_reference(),
      .created_ms = row.created_ms(),
      .last_active_ms = row.last_active_ms(),
      .metadata = {row.metadata().begin(), row.metadata().end()}};
  if (row.has_user_id()) {
    session.user_id = row.user_id();
  }
  if (row.has_active_adapter()) {
    session.active_adapter = row.active_adapter();
  }
  if (row.has_kv_cache()) {
    if (row.kv_cache().tier() > static_cast<uint32_t>(CacheTier::kCold)) {
      return CorruptRow(kRow);
    }
    session.kv_cache = {.tier = static_cast<CacheTier>(row.kv_cache().tier()),
                        .location = row.kv_cache().location(),
                        .cached_tokens = row.kv_cache().cached_tokens(),
                        .quantization = ReadQuantization(row.kv_cache()),
                        .created_ms = row.kv_cache().created_ms()};
  }
  return CheckSession(session).ok() ? absl::StatusOr<SessionState>(std::move(session))
                                    : CorruptRow(kRow);
}

}  // namespace ruvd::storage::sessions
