// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "storage/db/row_key.h"
#include "storage/patterns/pattern.h"

// Row keys of the pattern store. All begin with the collection's number, so that another model's
// patterns may one day live beside these.
namespace ruvd::patterns {

inline constexpr uint32_t kCollection = 0;

inline std::string CollectionKey() {
  return RowKey().Text("coll/").U32(kCollection).Take();
}
inline std::string CollectionPrefix() {
  return RowKey().U32(kCollection).Take();
}
// vec and slot.
inline std::string SlotKey(uint32_t slot) {
  return RowKey().U32(kCollection).U32(slot).Take();
}
// meta and payload.
inline std::string IdKey(const PatternId& id) {
  return RowKey().U32(kCollection).Bytes(id).Take();
}
inline std::string OplogKey(uint64_t sequence) {
  return RowKey().U64(sequence).Take();
}

}  // namespace ruvd::patterns
