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
namespace ruvd::storage::patterns {

// What is said of an id that names no pattern.
absl::Status NoSuchPattern(const PatternId& id);

// The slot that a key of vec or slot names. STORE_CORRUPT for a key that is none, or a number
// beyond the limit: slots are dense.
absl::StatusOr<uint32_t> SlotOfKey(std::string_view key);

// vec: the embedding as it was given, not normalised.
std::string EncodeVecRow(std::span<const float> embedding);
absl::Status DecodeVecRow(std::string_view bytes, std::span<float> embedding);  // of its length
absl::StatusOr<std::vector<float>> DecodeVecRow(std::string_view bytes, uint32_t dimension);

// Of slots whose rows were lost: above what any slot was given away with before, so that no row of
// then is taken for one of later.
inline constexpr uint32_t kGenerationAfterLoss = uint32_t{1} << 31;

// slot: which pattern occupies a slot, with the fields that filters, expiry and eviction need.
struct SlotRow {
  PatternId id{};
  uint32_t generation = 0;  // grows each time the slot is given away
  uint32_t bank = 0;
  SharingTier tier = SharingTier::kUnspecified;
  bool live = false;
  // What follows live slots have, free ones do not.
  float quality = 0;
  uint32_t uses = 0;
  int64_t created_ms = 0;
  int64_t touched_ms = 0;  // last made, changed or retrieved
  int64_t expires_ms = 0;  // 0: never
  Digest origin{};
  std::string task;

  bool operator==(const SlotRow&) const = default;
};
SlotRow SlotRowOf(const Pattern& pattern, uint32_t generation);
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
struct OplogRow {
  PatternChangeKind kind = PatternChangeKind::kPut;
  uint32_t collection = 0;
  PatternId id{};
  HybridTime time;  // of rows of older programs: their wall time

  bool operator==(const OplogRow&) const = default;
};
std::string EncodeOplogRow(const OplogRow& row);
absl::StatusOr<OplogRow> DecodeOplogRow(std::string_view bytes);

// default, graph/<number>: which checkpoint of a collection's graph counts.
struct CheckpointRow {
  uint64_t epoch = 0;     // 0: none
  uint64_t building = 0;  // begun and not ended; 0: none
  uint64_t chunks = 0;
  uint64_t bytes = 0;
  uint64_t rows = 0;
  int64_t created_ms = 0;
  uint32_t m = 0;  // links of a node, see HnswOptions

  bool operator==(const CheckpointRow&) const = default;
};
std::string EncodeCheckpointRow(const CheckpointRow& row);
absl::StatusOr<CheckpointRow> DecodeCheckpointRow(std::string_view bytes);

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

}  // namespace ruvd::storage::patterns
