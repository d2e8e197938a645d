// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/key_record.h"

#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/limits.h"

namespace ruvd::storage {
namespace {

constexpr uint8_t kVersion = 1;

absl::Status Damaged() {
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "the row of a data key does not decode; restore the store from a backup");
}

bool IsState(uint8_t state) {
  return state >= static_cast<uint8_t>(KeyRecord::State::kActive) &&
         state <= static_cast<uint8_t>(KeyRecord::State::kDestroyed);
}

}  // namespace

std::string EncodeKeyRecord(const KeyRecord& record) {
  RUVD_CHECK(record.key.has_value() == (record.state != KeyRecord::State::kDestroyed));
  RUVD_CHECK(record.scope.size() <= limits::kMaxScopeNameBytes);
  ByteWriter writer;
  writer.Write(kVersion)
      .Write(static_cast<uint8_t>(record.state))
      .Write(static_cast<uint16_t>(record.scope.size()))
      .Write(record.created_ms)
      .WriteText(record.scope);
  if (record.key) {
    writer.WriteBytes(record.key->bytes());
  }
  return writer.Take();
}

absl::StatusOr<KeyRecord> DecodeKeyRecord(std::string_view bytes) {
  ByteReader reader(AsBytes(bytes));
  const auto version = reader.Read<uint8_t>();
  const auto state = reader.Read<uint8_t>();
  const auto scope_bytes = reader.Read<uint16_t>();
  const auto created_ms = reader.Read<int64_t>();
  if (reader.failed() || *version != kVersion || !IsState(*state) ||
      *scope_bytes > limits::kMaxScopeNameBytes) {
    return Damaged();
  }
  const auto scope = reader.ReadBytes(*scope_bytes);
  if (!scope) {
    return Damaged();
  }
  KeyRecord record{.state = static_cast<KeyRecord::State>(*state),
                   .created_ms = *created_ms,
                   .scope = std::string(AsText(*scope)),
                   .key = std::nullopt};
  if (record.state == KeyRecord::State::kDestroyed) {
    return reader.remaining() == 0 ? absl::StatusOr<KeyRecord>(std::move(record)) : Damaged();
  }
  const auto key = reader.ReadBytes(privacy::kSealKeyBytes);
  if (!key || reader.remaining() != 0) {
    return Damaged();
  }
  ASSIGN_OR_RETURN(record.key, privacy::DataKey::FromBytes(*key));
  return record;
}

std::string KeyRowKey(uint64_t id) {
  return RowKey().U64(id).Take();
}

}  // namespace ruvd::storage
