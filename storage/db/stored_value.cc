// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/stored_value.h"

#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd {
namespace {

SealContext ContextOf(ColumnFamily family, std::string_view row_key, uint32_t schema,
                      uint32_t generation) {
  return {.column_family = static_cast<uint32_t>(family),
          .key = row_key,
          .schema = schema,
          .generation = generation};
}

absl::Status Broken(ColumnFamily family, std::string_view row_key, std::string_view cause) {
  return Error(absl::StatusCode::kDataLoss, reasons::kSealBroken,
               "value of {}, key {} {}; restore the store from a backup", InfoOf(family).name,
               ToHex(AsBytes(row_key)), cause);
}

}  // namespace

std::string EncodeStoredValue(const SealKey& key, ColumnFamily family, std::string_view row_key,
                              uint32_t schema, uint32_t generation, std::string_view plaintext) {
  return ByteWriter()
      .Write(kStoredValueFormat)
      .Write(schema)
      .Write(generation)
      .WriteText(key.Seal(ContextOf(family, row_key, schema, generation), plaintext))
      .Take();
}

absl::StatusOr<OpenedValue> DecodeStoredValue(const SealKey& key, ColumnFamily family,
                                              std::string_view row_key, std::string_view stored,
                                              std::optional<uint32_t> expected_generation) {
  ByteReader reader(AsBytes(stored));
  const auto format = reader.Read<uint8_t>();
  const auto schema = reader.Read<uint32_t>();
  const auto generation = reader.Read<uint32_t>();
  if (reader.failed() || *format != kStoredValueFormat) {
    return Broken(family, row_key, "is not in a known format");
  }
  if (expected_generation && *generation != *expected_generation) {
    return Broken(family, row_key,
                  fmt::format("has generation {}, expected {}: another value of the row was put "
                              "back",
                              *generation, *expected_generation));
  }
  OpenedValue value{.schema = *schema, .generation = *generation};
  ASSIGN_OR_RETURN(value.plaintext, key.Open(ContextOf(family, row_key, *schema, *generation),
                                             stored.substr(kStoredValueHeaderBytes)));
  return value;
}

}  // namespace ruvd
