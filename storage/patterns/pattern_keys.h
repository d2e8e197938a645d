// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/db/row_key.h"
#include "storage/patterns/pattern.h"

// The row keys of the pattern store. All keys except those of the log contain the collection's
// number, because patterns of different models are stored side by side.
namespace ruvd::storage::patterns {

inline constexpr std::string_view kCollectionKeys = "coll/";

inline std::string CollectionKey(uint32_t collection) {
  return RowKey().Text(kCollectionKeys).U32(collection).Take();
}
inline std::string CollectionPrefix(uint32_t collection) {
  return RowKey().U32(collection).Take();
}
inline std::string CheckpointKey(uint32_t collection) {
  return RowKey().Text("graph/").U32(collection).Take();
}
// The first key of an epoch in the family graph
inline std::string EpochKey(uint32_t collection, uint64_t epoch) {
  return RowKey().U32(collection).U64(epoch).Take();
}
inline std::string ChunkKey(uint32_t collection, uint64_t epoch, uint8_t section, uint32_t chunk) {
  return RowKey().U32(collection).U64(epoch).U8(section).U32(chunk).Take();
}
// A key in the families vec and slot
inline std::string SlotKey(uint32_t collection, uint32_t slot) {
  return RowKey().U32(collection).U32(slot).Take();
}
// A key in the families meta and payload
inline std::string IdKey(uint32_t collection, const PatternId& id) {
  return RowKey().U32(collection).Bytes(id).Take();
}
inline std::string OplogKey(uint64_t sequence) {
  return RowKey().U64(sequence).Take();
}

}  // namespace ruvd::storage::patterns
