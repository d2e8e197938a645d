// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/checkpoint_chunk.h"

#include <optional>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/hnsw/node_id.h"
#include "storage/limits.h"

namespace ruvd::storage::hnsw {
namespace {

constexpr uint32_t kMagic = 0x47485652;  // "RVHG"
constexpr uint16_t kVersion = 1;
constexpr uint8_t kEndOfSection = 1;
constexpr uint8_t kEndOfCheckpoint = 2;
constexpr size_t kChecksumBytes = 16;

absl::Status Corrupt(std::string_view what) {
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "the checkpoint of the vector index {}; it is derived data: rebuild it", what);
}

std::string_view Checksum(std::string_view bytes, Digest* digest) {
  *digest = Sha256(bytes);
  return AsText(*digest).substr(0, kChecksumBytes);
}

std::string Header(const ChunkPlace& place, uint8_t flags, size_t payload_bytes) {
  return ByteWriter()
      .Write(kMagic)
      .Write(kVersion)
      .Write(place.section)
      .Write(flags)
      .Write(place.collection)
      .Write(place.chunk)
      .Write(place.epoch)
      .Write(static_cast<uint32_t>(payload_bytes))
      .Take();
}

}  // namespace

std::string SealChunk(const ChunkPlace& place, const ChunkEnd& end, std::string_view payload) {
  const uint8_t flags =
      (end.of_section ? kEndOfSection : 0) | (end.of_checkpoint ? kEndOfCheckpoint : 0);
  std::string bytes = Header(place, flags, payload.size());
  bytes += payload;
  Digest digest;
  bytes += Checksum(bytes, &digest);
  return bytes;
}

absl::StatusOr<OpenedChunk> OpenChunk(const ChunkPlace& place, std::string_view bytes) {
  const size_t header_bytes = Header(place, 0, 0).size();
  if (bytes.size() < header_bytes + kChecksumBytes ||
      bytes.size() > limits::kMaxCheckpointChunkBytes) {
    return Corrupt("has a chunk of a wrong size");
  }
  const std::string_view covered = bytes.substr(0, bytes.size() - kChecksumBytes);
  Digest digest;
  if (Checksum(covered, &digest) != bytes.substr(covered.size())) {
    return Corrupt("has a damaged chunk");
  }
  const std::string_view payload = covered.substr(header_bytes);
  const auto flags = static_cast<uint8_t>(covered[sizeof(kMagic) + sizeof(kVersion) + 1]);
  if (flags > (kEndOfSection | kEndOfCheckpoint) ||
      covered.substr(0, header_bytes) != Header(place, flags, payload.size())) {
    return Corrupt("has a chunk of another place or version");
  }
  return OpenedChunk{{(flags & kEndOfSection) != 0, (flags & kEndOfCheckpoint) != 0}, payload};
}

std::string EncodeManifest(const Manifest& manifest) {
  ByteWriter writer;
  writer.Write(manifest.dimension)
      .Write(static_cast<uint8_t>(manifest.metric))
      .Write(manifest.m)
      .Write(manifest.seed)
      .Write(manifest.nodes)
      .Write(static_cast<uint8_t>(manifest.entries.size()));
  for (const Manifest::Entry& entry : manifest.entries) {
    writer.Write(entry.bank).Write(entry.node);
  }
  return writer.Take();
}

absl::StatusOr<Manifest> DecodeManifest(std::string_view payload) {
  ByteReader reader(AsBytes(payload));
  Manifest manifest;
  manifest.dimension = reader.Read<uint32_t>().value_or(0);
  const uint8_t metric = reader.Read<uint8_t>().value_or(0);
  manifest.m = reader.Read<uint32_t>().value_or(0);
  manifest.seed = reader.Read<uint64_t>().value_or(0);
  manifest.nodes = reader.Read<uint32_t>().value_or(0);
  const uint8_t entries = reader.Read<uint8_t>().value_or(0);
  if (reader.failed() || metric < static_cast<uint8_t>(HnswMetric::kCosine) ||
      metric > static_cast<uint8_t>(HnswMetric::kL2) || manifest.dimension == 0 ||
      manifest.dimension > limits::kMaxDimension || manifest.m < 2 ||
      manifest.m > limits::kMaxHnswM || manifest.nodes > limits::kMaxHnswNodes ||
      entries > limits::kMaxBanks) {
    return Corrupt("has a manifest out of range");
  }
  manifest.metric = static_cast<HnswMetric>(metric);
  for (size_t i = 0; i < entries; ++i) {
    const auto bank = reader.Read<uint8_t>();
    const auto node = reader.Read<uint32_t>();
    if (reader.failed() || *bank >= limits::kMaxBanks || *node >= manifest.nodes ||
        (i > 0 && *bank <= manifest.entries.back().bank)) {
      return Corrupt("has a bad entry point");
    }
    manifest.entries.push_back({*bank, *node});
  }
  if (reader.remaining() != 0) {
    return Corrupt("has a manifest that is too long");
  }
  return manifest;
}

void AppendRecord(const NodeRecord& record, bool of_level_0, std::string* payload) {
  ByteWriter writer;
  writer.Write(record.node);
  if (of_level_0) {
    writer.Write(record.label)
        .Write(record.generation)
        .Write(record.level)
        .Write(record.bank)
        .Write(static_cast<uint8_t>(record.live ? 1 : 0));
  }
  writer.Write(static_cast<uint16_t>(record.links.size()));
  for (const uint32_t link : record.links) {
    writer.Write(link);
  }
  *payload += writer.str();
}

absl::StatusOr<std::vector<NodeRecord>> DecodeRecords(std::string_view payload, bool of_level_0,
                                                      uint32_t nodes, size_t width) {
  ByteReader reader(AsBytes(payload));
  std::vector<NodeRecord> records;
  while (reader.remaining() > 0) {
    NodeRecord record;
    record.node = reader.Read<uint32_t>().value_or(nodes);
    uint8_t live = 0;
    if (of_level_0) {
      record.label = reader.Read<uint32_t>().value_or(limits::kMaxPatterns);
      record.generation = reader.Read<uint32_t>().value_or(0);
      record.level = reader.Read<uint8_t>().value_or(0);
      record.bank = reader.Read<uint8_t>().value_or(0);
      live = reader.Read<uint8_t>().value_or(0);
    }
    record.live = live == 1;
    const size_t links = reader.Read<uint16_t>().value_or(0);
    if (reader.failed() || record.node >= nodes || record.label >= limits::kMaxPatterns ||
        record.bank >= limits::kMaxBanks || record.level > kMaxLevel || live > 1 || links > width ||
        (!records.empty() && record.node <= records.back().node)) {
      return Corrupt("has a node out of range or order");
    }
    for (size_t i = 0; i < links; ++i) {
      const auto link = reader.Read<uint32_t>();
      if (!link || *link >= nodes) {
        return Corrupt("has a link out of range");
      }
      record.links.push_back(*link);
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace ruvd::storage::hnsw
