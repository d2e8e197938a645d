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

// The plaintexts of a pattern's rows; docs/store-format.md describes the bytes. Decoders check
// every length and return STORE_CORRUPT. A sealed value opens only if this program wrote it, so a
// row that does not decode is a bug or was damaged before sealing, and must never be read in part.
namespace ruvd::storage::patterns {

// Returns the error for an id that names no pattern.
absl::Status NoSuchPattern(const PatternId& id);

// Returns the slot in a key of the families vec or slot. Returns STORE_CORRUPT for any other key
// and for a number above the limit, because slots are dense.
absl::StatusOr<uint32_t> SlotOfKey(std::string_view key);

// vec: this is the embedding as it was given, not normalised.
std::string EncodeVecRow(std::span<const float> embedding);
// `embedding` has the expected length
absl::Status DecodeVecRow(std::string_view bytes, std::span<float> embedding);
absl::StatusOr<std::vector<float>> DecodeVecRow(std::string_view bytes, uint32_t dimension);

// The generation of slots whose rows were lost. It is higher than any generation used before the
// loss, so no earlier row is taken for a later one.
inline constexpr uint32_t kGenerationAfterLoss = uint32_t{1} << 31;

// slot: this row says which pattern is in a slot, with the fields that filters, expiry and eviction
// need.
struct SlotRow {
  PatternId id{};
  uint32_t generation = 0;  // grows each time the slot is reused
  uint32_t bank = 0;
  SharingTier tier = SharingTier::kUnspecified;
  bool live = false;
  PatternStanding standing = PatternStanding::kOwn;
  // Only live slots have the fields below.
  float quality = 0;
  uint32_t uses = 0;
  int64_t created_ms = 0;
  int64_t touched_ms = 0;  // the last time it was made, changed or retrieved
  int64_t expires_ms = 0;  // 0: never
  Digest origin{};
  std::string task;

  bool operator==(const SlotRow&) const = default;
};
SlotRow SlotRowOf(const Pattern& pattern, uint32_t generation);
std::string EncodeSlotRow(const SlotRow& row);
absl::StatusOr<SlotRow> DecodeSlotRow(std::string_view bytes);

// meta: this row has everything of a pattern except embedding and payload.
struct MetaRow {
  Pattern pattern;
  uint32_t slot = 0;
  uint32_t generation = 0;
  bool tombstone = false;
  std::string content_hash;
};
std::string EncodeMetaRow(const MetaRow& row);
absl::StatusOr<MetaRow> DecodeMetaRow(std::string_view bytes, const PatternId& id);

// oplog: this row is a resolved change, never a condition, so replaying it has only one possible
// result.
struct OplogRow {
  PatternChangeKind kind = PatternChangeKind::kPut;
  uint32_t collection = 0;
  PatternId id{};
  HybridTime time;

  bool operator==(const OplogRow&) const = default;
};
std::string EncodeOplogRow(const OplogRow& row);
absl::StatusOr<OplogRow> DecodeOplogRow(std::string_view bytes);

// default, graph/NUMBER: this row says which checkpoint of a collection's graph is current.
struct CheckpointRow {
  uint64_t epoch = 0;  // 0: there is no checkpoint
  // the epoch of a checkpoint that was begun and not completed; 0: there is no such epoch
  uint64_t building = 0;
  uint64_t chunks = 0;
  uint64_t bytes = 0;
  uint64_t rows = 0;
  int64_t created_ms = 0;
  uint32_t m = 0;  // links of a node, see HnswOptions

  bool operator==(const CheckpointRow&) const = default;
};
std::string EncodeCheckpointRow(const CheckpointRow& row);
absl::StatusOr<CheckpointRow> DecodeCheckpointRow(std::string_view bytes);

// default, coll/NUMBER: this row describes the model that a collection was made for.
struct CollectionRow {
  uint32_t dimension = 0;
  Digest model_hash{};
  uint32_t m = 0;
  uint32_t ef_construction = 0;
  int64_t created_ms = 0;
};
std::string EncodeCollectionRow(const CollectionRow& row);
absl::StatusOr<CollectionRow> DecodeCollectionRow(std::string_view bytes);

}  // namespace ruvd::storage::patterns
