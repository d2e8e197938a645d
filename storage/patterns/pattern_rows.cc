// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/patterns/pattern_rows.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/storage/v1/storage.pb.h"
#include "storage/limits.h"

namespace ruvd::patterns {
namespace {

constexpr uint8_t kVecVersion = 1;
constexpr uint8_t kDtypeF32 = 1;
constexpr size_t kSlotPadding = 6;
constexpr char kCosine[] = "cosine";

absl::Status Corrupt(std::string_view row) {
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "a {} row of the pattern store does not decode; restore the store from a backup",
               row);
}

bool IsTier(uint32_t tier) {
  return tier <= static_cast<uint32_t>(SharingTier::kPublic);
}

template <size_t N>
bool CopyExactly(std::string_view from, std::array<uint8_t, N>* to) {
  if (from.size() != N) {
    return false;
  }
  std::memcpy(to->data(), from.data(), N);
  return true;
}

}  // namespace

std::string EncodeVecRow(std::span<const float> embedding) {
  ByteWriter writer;
  writer.Write(kVecVersion).Write(kDtypeF32).Write(uint16_t{0});
  writer.Write(static_cast<uint32_t>(embedding.size()));
  for (const float value : embedding) {
    writer.Write(value);
  }
  return writer.Take();
}

absl::StatusOr<std::vector<float>> DecodeVecRow(std::string_view bytes, uint32_t dimension) {
  ByteReader reader(AsBytes(bytes));
  const auto version = reader.Read<uint8_t>();
  const auto dtype = reader.Read<uint8_t>();
  const auto flags = reader.Read<uint16_t>();
  const auto count = reader.Read<uint32_t>();
  if (reader.failed() || *version != kVecVersion || *dtype != kDtypeF32 || *flags != 0 ||
      *count != dimension || reader.remaining() != uint64_t{dimension} * sizeof(float)) {
    return Corrupt("vec");
  }
  std::vector<float> embedding(dimension);
  std::memcpy(embedding.data(), bytes.data() + reader.offset(), reader.remaining());
  return embedding;
}

std::string EncodeSlotRow(const SlotRow& row) {
  return ByteWriter()
      .WriteBytes(row.id)
      .Write(row.generation)
      .Write(row.bank)
      .Write(static_cast<uint8_t>(row.tier))
      .Write(static_cast<uint8_t>(row.live ? 1 : 0))
      .WriteText(std::string(kSlotPadding, '\0'))
      .Take();
}

absl::StatusOr<SlotRow> DecodeSlotRow(std::string_view bytes) {
  ByteReader reader(AsBytes(bytes));
  const auto id = reader.ReadArray<std::tuple_size_v<PatternId>>();
  const auto generation = reader.Read<uint32_t>();
  const auto bank = reader.Read<uint32_t>();
  const auto tier = reader.Read<uint8_t>();
  const auto live = reader.Read<uint8_t>();
  if (reader.failed() || reader.remaining() != kSlotPadding || *bank >= limits::kMaxBanks ||
      !IsTier(*tier) || *live > 1) {
    return Corrupt("slot");
  }
  return SlotRow{.id = *id,
                 .generation = *generation,
                 .bank = *bank,
                 .tier = static_cast<SharingTier>(*tier),
                 .live = *live == 1};
}

std::string EncodeMetaRow(const MetaRow& row) {
  const Pattern& pattern = row.pattern;
  storage::v1::PatternMeta meta;
  meta.set_slot(row.slot);
  meta.set_generation(row.generation);
  meta.set_bank(pattern.bank);
  meta.set_task(pattern.task);
  meta.set_tier(static_cast<uint32_t>(pattern.tier));
  meta.set_quality(pattern.quality);
  meta.set_uses(pattern.uses);
  meta.set_examples(pattern.examples);
  meta.set_origin(std::string(AsText(pattern.origin)));
  meta.set_created_ms(pattern.created_ms);
  meta.set_updated_ms(pattern.updated_ms);
  meta.set_tombstone(row.tombstone);
  meta.set_adapter_name(pattern.adapter_name);
  meta.set_adapter_version(pattern.adapter_version);
  meta.set_content_hash(row.content_hash);
  return meta.SerializeAsString();
}

absl::StatusOr<MetaRow> DecodeMetaRow(std::string_view bytes, const PatternId& id) {
  storage::v1::PatternMeta meta;
  MetaRow row;
  if (!meta.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      meta.bank() >= limits::kMaxBanks || !IsTier(meta.tier()) ||
      !CopyExactly(meta.origin(), &row.pattern.origin)) {
    return Corrupt("meta");
  }
  row.slot = meta.slot();
  row.generation = meta.generation();
  row.tombstone = meta.tombstone();
  row.content_hash = meta.content_hash();
  row.pattern.id = id;
  row.pattern.bank = meta.bank();
  row.pattern.task = meta.task();
  row.pattern.tier = static_cast<SharingTier>(meta.tier());
  row.pattern.quality = meta.quality();
  row.pattern.uses = meta.uses();
  row.pattern.examples = meta.examples();
  row.pattern.created_ms = meta.created_ms();
  row.pattern.updated_ms = meta.updated_ms();
  row.pattern.adapter_name = meta.adapter_name();
  row.pattern.adapter_version = meta.adapter_version();
  return row;
}

std::string EncodeOplogRow(PatternOp op, uint32_t collection, const PatternId& id,
                           int64_t wall_ms) {
  storage::v1::OplogEntry entry;
  entry.set_op(static_cast<uint32_t>(op));
  entry.set_collection(collection);
  entry.set_pattern_id(std::string(AsText(id)));
  entry.set_wall_ms(wall_ms);
  return entry.SerializeAsString();
}

std::string EncodeCollectionRow(const CollectionRow& row) {
  storage::v1::CollectionInfo info;
  info.set_dimension(row.dimension);
  info.set_metric(kCosine);
  info.set_m(row.m);
  info.set_ef_construction(row.ef_construction);
  info.set_model_hash(std::string(AsText(row.model_hash)));
  info.set_created_ms(row.created_ms);
  return info.SerializeAsString();
}

absl::StatusOr<CollectionRow> DecodeCollectionRow(std::string_view bytes) {
  storage::v1::CollectionInfo info;
  CollectionRow row;
  if (!info.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      info.metric() != kCosine || !CopyExactly(info.model_hash(), &row.model_hash)) {
    return Corrupt("collection");
  }
  row.dimension = info.dimension();
  row.m = info.m();
  row.ef_construction = info.ef_construction();
  row.created_ms = info.created_ms();
  return row;
}

}  // namespace ruvd::patterns
