// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/patterns/pattern_rows.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/storage/v1/storage.pb.h"
#include "storage/db/row_key.h"
#include "storage/limits.h"

namespace ruvd::storage::patterns {
namespace {

constexpr uint8_t kVecVersion = 1;
constexpr uint8_t kDtypeF32 = 1;
constexpr uint8_t kFreeSlotRow = 0;
constexpr uint8_t kLiveSlotRow = 1;
constexpr size_t kSlotPadding = 4;
constexpr char kCosine[] = "cosine";

absl::Status Corrupt(std::string_view row) {
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "a {} row of the pattern store does not decode; restore the store from a backup",
               row);
}

bool IsTier(uint32_t tier) {
  return tier <= static_cast<uint32_t>(SharingTier::kPublic);
}

bool IsStanding(uint32_t standing) {
  return standing <= static_cast<uint32_t>(kLastStanding);
}

template <size_t N>
bool CopyExactly(std::string_view from, std::array<uint8_t, N>* to) {
  if (from.size() != N) {
    return false;
  }
  std::memcpy(to->data(), from.data(), N);
  return true;
}

// Reads the fields that only a live row has.
bool ReadRest(ByteReader& reader, SlotRow* row) {
  const auto quality = reader.Read<float>();
  const auto uses = reader.Read<uint32_t>();
  const auto created_ms = reader.Read<int64_t>();
  const auto touched_ms = reader.Read<int64_t>();
  const auto expires_ms = reader.Read<int64_t>();
  const auto origin = reader.ReadArray<std::tuple_size_v<Digest>>();
  const auto task_bytes = reader.Read<uint16_t>();
  if (reader.failed() || *task_bytes > limits::kMaxTaskBytes ||
      !(*quality >= 0.0F && *quality <= 1.0F)) {
    return false;
  }
  const auto task = reader.ReadBytes(*task_bytes);
  if (!task) {
    return false;
  }
  row->quality = *quality;
  row->uses = *uses;
  row->created_ms = *created_ms;
  row->touched_ms = *touched_ms;
  row->expires_ms = *expires_ms;
  row->origin = *origin;
  row->task = AsText(*task);
  return true;
}

}  // namespace

absl::Status NoSuchPattern(const PatternId& id) {
  return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
               "there is no pattern {}; list the patterns to see which ones exist", ToHex(id));
}

absl::StatusOr<uint32_t> SlotOfKey(std::string_view key) {
  const std::optional<uint32_t> slot = ReadKeyU32(key, sizeof(uint32_t));
  if (!slot || key.size() != 2 * sizeof(uint32_t) || *slot >= limits::kMaxPatterns) {
    return Corrupt("misplaced");
  }
  return *slot;
}

std::string EncodeVecRow(std::span<const float> embedding) {
  ByteWriter writer;
  writer.Write(kVecVersion).Write(kDtypeF32).Write(uint16_t{0});
  writer.Write(static_cast<uint32_t>(embedding.size()));
  for (const float value : embedding) {
    writer.Write(value);
  }
  return writer.Take();
}

absl::Status DecodeVecRow(std::string_view bytes, std::span<float> embedding) {
  ByteReader reader(AsBytes(bytes));
  const auto version = reader.Read<uint8_t>();
  const auto dtype = reader.Read<uint8_t>();
  const auto flags = reader.Read<uint16_t>();
  const auto count = reader.Read<uint32_t>();
  if (reader.failed() || *version != kVecVersion || *dtype != kDtypeF32 || *flags != 0 ||
      *count != embedding.size() || reader.remaining() != embedding.size_bytes()) {
    return Corrupt("vec");
  }
  std::memcpy(embedding.data(), bytes.data() + reader.offset(), reader.remaining());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> DecodeVecRow(std::string_view bytes, uint32_t dimension) {
  std::vector<float> embedding(dimension);
  RETURN_IF_ERROR(DecodeVecRow(bytes, embedding));
  return embedding;
}

SlotRow SlotRowOf(const Pattern& pattern, uint32_t generation) {
  return {.id = pattern.id,
          .generation = generation,
          .bank = pattern.bank,
          .tier = pattern.tier,
          .live = true,
          .standing = pattern.standing,
          .quality = pattern.quality,
          .uses = pattern.uses,
          .created_ms = pattern.created_ms,
          .touched_ms = std::max({pattern.created_ms, pattern.updated_ms, pattern.last_used_ms}),
          .expires_ms = pattern.expires_ms,
          .origin = pattern.origin,
          .task = pattern.task};
}

std::string EncodeSlotRow(const SlotRow& row) {
  ByteWriter writer;
  writer.WriteBytes(row.id)
      .Write(row.generation)
      .Write(row.bank)
      .Write(static_cast<uint8_t>(row.tier))
      .Write(static_cast<uint8_t>(row.live ? 1 : 0))
      .Write(row.live ? kLiveSlotRow : kFreeSlotRow)
      .Write(static_cast<uint8_t>(row.standing))
      .WriteText(std::string(kSlotPadding, '\0'));
  if (row.live) {
    writer.Write(row.quality)
        .Write(row.uses)
        .Write(row.created_ms)
        .Write(row.touched_ms)
        .Write(row.expires_ms)
        .WriteBytes(row.origin)
        .Write(static_cast<uint16_t>(row.task.size()))
        .WriteText(row.task);
  }
  return writer.Take();
}

absl::StatusOr<SlotRow> DecodeSlotRow(std::string_view bytes) {
  ByteReader reader(AsBytes(bytes));
  const auto id = reader.ReadArray<std::tuple_size_v<PatternId>>();
  const auto generation = reader.Read<uint32_t>();
  const auto bank = reader.Read<uint32_t>();
  const auto tier = reader.Read<uint8_t>();
  const auto live = reader.Read<uint8_t>();
  const auto form = reader.Read<uint8_t>();
  const auto standing = reader.Read<uint8_t>();
  (void)reader.ReadBytes(kSlotPadding);
  if (reader.failed() || *bank >= limits::kMaxBanks || !IsTier(*tier) || !IsStanding(*standing) ||
      *live > 1 || *form != (*live == 1 ? kLiveSlotRow : kFreeSlotRow)) {
    return Corrupt("slot");
  }
  SlotRow row{.id = *id,
              .generation = *generation,
              .bank = *bank,
              .tier = static_cast<SharingTier>(*tier),
              .live = *live == 1,
              .standing = static_cast<PatternStanding>(*standing)};
  if ((row.live && !ReadRest(reader, &row)) || reader.remaining() != 0) {
    return Corrupt("slot");
  }
  return row;
}

std::string EncodeMetaRow(const MetaRow& row) {
  const Pattern& pattern = row.pattern;
  v1::PatternMeta meta;
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
  meta.set_stamp(pattern.stamp.packed);
  meta.set_last_used_ms(pattern.last_used_ms);
  meta.set_expires_ms(pattern.expires_ms);
  meta.set_standing(static_cast<uint32_t>(pattern.standing));
  return meta.SerializeAsString();
}

absl::StatusOr<MetaRow> DecodeMetaRow(std::string_view bytes, const PatternId& id) {
  v1::PatternMeta meta;
  MetaRow row;
  if (!meta.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      meta.bank() >= limits::kMaxBanks || !IsTier(meta.tier()) || !IsStanding(meta.standing()) ||
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
  row.pattern.stamp.packed = meta.stamp();
  row.pattern.last_used_ms = meta.last_used_ms();
  row.pattern.expires_ms = meta.expires_ms();
  row.pattern.standing = static_cast<PatternStanding>(meta.standing());
  return row;
}

std::string EncodeOplogRow(const OplogRow& row) {
  v1::OplogEntry entry;
  entry.set_op(static_cast<uint32_t>(row.kind));
  entry.set_collection(row.collection);
  entry.set_pattern_id(std::string(AsText(row.id)));
  entry.set_stamp(row.time.packed);
  return entry.SerializeAsString();
}

absl::StatusOr<OplogRow> DecodeOplogRow(std::string_view bytes) {
  v1::OplogEntry entry;
  OplogRow row;
  if (!entry.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      entry.op() < static_cast<uint32_t>(PatternChangeKind::kPut) ||
      entry.op() > static_cast<uint32_t>(PatternChangeKind::kEvict) ||
      !CopyExactly(entry.pattern_id(), &row.id)) {
    return Corrupt("oplog");
  }
  row.kind = static_cast<PatternChangeKind>(entry.op());
  row.collection = entry.collection();
  row.time.packed = entry.stamp();
  return row;
}

std::string EncodeCheckpointRow(const CheckpointRow& row) {
  v1::GraphCheckpoint checkpoint;
  checkpoint.set_epoch(row.epoch);
  checkpoint.set_building(row.building);
  checkpoint.set_chunks(row.chunks);
  checkpoint.set_bytes(row.bytes);
  checkpoint.set_rows(row.rows);
  checkpoint.set_created_ms(row.created_ms);
  checkpoint.set_m(row.m);
  return checkpoint.SerializeAsString();
}

absl::StatusOr<CheckpointRow> DecodeCheckpointRow(std::string_view bytes) {
  v1::GraphCheckpoint checkpoint;
  if (!checkpoint.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Corrupt("checkpoint");
  }
  return CheckpointRow{.epoch = checkpoint.epoch(),
                       .building = checkpoint.building(),
                       .chunks = checkpoint.chunks(),
                       .bytes = checkpoint.bytes(),
                       .rows = checkpoint.rows(),
                       .created_ms = checkpoint.created_ms(),
                       .m = checkpoint.m()};
}

std::string EncodeCollectionRow(const CollectionRow& row) {
  v1::CollectionInfo info;
  info.set_dimension(row.dimension);
  info.set_metric(kCosine);
  info.set_m(row.m);
  info.set_ef_construction(row.ef_construction);
  info.set_model_hash(std::string(AsText(row.model_hash)));
  info.set_created_ms(row.created_ms);
  return info.SerializeAsString();
}

absl::StatusOr<CollectionRow> DecodeCollectionRow(std::string_view bytes) {
  v1::CollectionInfo info;
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

}  // namespace ruvd::storage::patterns
