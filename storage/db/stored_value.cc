// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/stored_value.h"

#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::storage {
namespace {

privacy::SealContext ContextOf(ColumnFamily family, std::string_view row_key,
                               const StoredHeader& header) {
  return {.column_family = static_cast<uint32_t>(family),
          .key = row_key,
          .schema = header.schema,
          .generation = header.generation,
          .key_id = header.key_id};
}

absl::Status Broken(ColumnFamily family, std::string_view row_key, std::string_view cause) {
  return Error(absl::StatusCode::kDataLoss, reasons::kSealBroken,
               "the value of {}, key {} {}; restore the store from a backup", InfoOf(family).name,
               ToHex(AsBytes(row_key)), cause);
}

absl::StatusOr<std::string> Open(const privacy::SealKey* node_key, const KeyRing::View* ring,
                                 const privacy::SealContext& context, std::string_view sealed) {
  if (context.key_id == 0) {
    return node_key->Open(context, sealed);
  }
  ASSIGN_OR_RETURN(const privacy::DataKey key, ring->Find(context.key_id));
  return key.Open(context, sealed);
}

}  // namespace

std::string EncodeStoredValue(const privacy::SealKey& key, ColumnFamily family,
                              std::string_view row_key, uint32_t schema, uint32_t generation,
                              std::string_view plaintext) {
  const StoredHeader header{.schema = schema, .generation = generation};
  return ByteWriter()
      .Write(kNodeSealedFormat)
      .Write(schema)
      .Write(generation)
      .WriteText(key.Seal(ContextOf(family, row_key, header), plaintext))
      .Take();
}

std::string EncodeStoredValue(const KeyRing::Held& key, ColumnFamily family,
                              std::string_view row_key, uint32_t schema, uint32_t generation,
                              std::string_view plaintext) {
  RUVD_CHECK(key.id != 0);
  const StoredHeader header{.schema = schema, .generation = generation, .key_id = key.id};
  std::string out =
      ByteWriter().Write(kKeySealedFormat).Write(schema).Write(generation).Write(key.id).Take();
  out.reserve(kStoredValueOverheadBytes + plaintext.size());
  key.key.AppendSealed(ContextOf(family, row_key, header), plaintext, &out);
  return out;
}

absl::StatusOr<StoredHeader> DecodeStoredHeader(ColumnFamily family, std::string_view row_key,
                                                std::string_view stored) {
  ByteReader reader(AsBytes(stored));
  const auto format = reader.Read<uint8_t>();
  const auto schema = reader.Read<uint32_t>();
  const auto generation = reader.Read<uint32_t>();
  const bool keyed = format == kKeySealedFormat;
  const auto key_id = keyed ? reader.Read<uint64_t>() : std::optional<uint64_t>(0);
  if (reader.failed() || (!keyed && *format != kNodeSealedFormat) || (keyed && *key_id == 0)) {
    return Broken(family, row_key, "is not in a known format");
  }
  return StoredHeader{.format = *format,
                      .schema = *schema,
                      .generation = *generation,
                      .key_id = *key_id,
                      .bytes = reader.offset()};
}

absl::StatusOr<OpenedValue> DecodeStoredValue(const privacy::SealKey* node_key,
                                              const KeyRing::View* ring, ColumnFamily family,
                                              std::string_view row_key, std::string_view stored,
                                              std::optional<uint32_t> expected_generation) {
  ASSIGN_OR_RETURN(const StoredHeader header, DecodeStoredHeader(family, row_key, stored));
  if (header.key_id == 0 ? node_key == nullptr : ring == nullptr) {
    return Broken(family, row_key, "is sealed by the wrong kind of key");
  }
  if (expected_generation && header.generation != *expected_generation) {
    return Broken(family, row_key,
                  fmt::format("has generation {}, expected {}: another value of the row was put "
                              "back",
                              header.generation, *expected_generation));
  }
  OpenedValue value{.schema = header.schema, .generation = header.generation};
  ASSIGN_OR_RETURN(value.plaintext, Open(node_key, ring, ContextOf(family, row_key, header),
                                         stored.substr(header.bytes)));
  return value;
}

}  // namespace ruvd::storage
