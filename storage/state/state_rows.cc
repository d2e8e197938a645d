// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/state/state_rows.h"

#include "storage/db/row_key.h"

namespace ruvd::storage::state_rows {
namespace {

constexpr size_t kPlaceBytes = sizeof(uint64_t) + sizeof(uint32_t);

}  // namespace

std::string HeadKey(std::string_view name) {
  return RowKey().Text(name).U8(0).Take();
}

std::string ChunkKey(std::string_view name, uint64_t epoch, uint32_t chunk) {
  return RowKey().Text(name).U8(0).U64(epoch).U32(chunk).Take();
}

std::string EndOfName(std::string_view name) {
  return RowKey().Text(name).U8(1).Take();
}

std::optional<ParsedKey> ParseKey(std::string_view key) {
  const size_t end = key.find('\0');
  if (end == std::string_view::npos || end == 0) {
    return std::nullopt;
  }
  ParsedKey parsed{.name = key.substr(0, end)};
  const size_t more = key.size() - end - 1;
  if (more == 0) {
    return parsed;
  }
  if (more != kPlaceBytes) {
    return std::nullopt;
  }
  parsed.chunk = {.epoch = *ReadKeyU64(key, end + 1),
                  .chunk = *ReadKeyU32(key, end + 1 + sizeof(uint64_t))};
  return parsed;
}

}  // namespace ruvd::storage::state_rows
