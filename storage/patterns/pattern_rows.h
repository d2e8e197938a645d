// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/patterns/pattern.h"

// The plaintexts of a pattern's rows; docs/store-format.md has the bytes. Decoders check every
// length and answer STORE_CORRUPT: a sealed value opens only if we wrote it, so a row that does not
// decode is our own bug or damage before sealing, never to be read half.
namespace ruvd::patterns {

// vec: the embedding as it was given, not normalised.
std::string EncodeVecRow(std::span<const float> embedding);
absl::StatusOr<std::vector<float>> DecodeVecRow(std::string_view bytes, uint32_t dimension);

// slot: which pattern occupies a slot, with the fields that filters need; 32 bytes.
struct SlotRow {
  PatternId id{};
  uint32_t generation = 0;  // grows each time the slot is given away
  uint32_t bank = 0;
  SharingTier tier = SharingTier::kUnspecified;
  bool live = false;
};
inline constexpr size_t kSlotRowBytes = 32;
std::string EncodeSlotRow(const SlotRow& row);
absl::StatusOr<SlotRow> DecodeSlotRow(std::string_view bytes);

// meta: everything of a pattern but embedding and payload.
struct MetaRow {
  Pattern pattern;
  uint32_t slot = 0;
  uint32_t generation = 0;
  bool tombstone = false;
  std::string content_hash;
};
std::string EncodeMetaRow(const MetaRow& row);
absl::StatusOr<MetaRow> DecodeMetaRow(std::string_view bytes, const PatternId& id);

// oplog: a resolved change, never a condition, so that replaying it cannot select anything else.
enum class PatternOp : uint8_t { kPut = 1, kDelete = 2 };
std::string EncodeOplogRow(PatternOp op, uint32_t collection, const PatternId& id, int64_t wall_ms);

// default, coll/<number>: what a collection was made for.
struct CollectionRow {
  uint32_t dimension = 0;
  Digest model_hash{};
  uint32_t m = 0;
  uint32_t ef_construction = 0;
  int64_t created_ms = 0;
};
std::string EncodeCollectionRow(const CollectionRow& row);
absl::StatusOr<CollectionRow> DecodeCollectionRow(std::string_view bytes);

}  // namespace ruvd::patterns
