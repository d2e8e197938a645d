// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "storage/hnsw/checkpoint.h"

namespace ruvd::storage {
namespace {

constexpr size_t kChunkBytes = 16 << 10;

}  // namespace

HnswCheckpointWriter::HnswCheckpointWriter(const HnswIndex& index, uint32_t collection,
                                           uint64_t epoch)
    : core_(index.core_),
      pin_(core_.epochs),
      nodes_(static_cast<uint32_t>(core_.nodes.size())),
      place_{.collection = collection, .epoch = epoch} {}

std::string HnswCheckpointWriter::Manifest() const {
  hnsw::Manifest manifest{.dimension = core_.options.dimension,
                          .metric = core_.options.metric,
                          .m = core_.options.m,
                          .seed = core_.options.seed,
                          .nodes = nodes_};
  for (size_t bank = 0; bank < core_.banks.size(); ++bank) {
    if (const uint32_t entry = core_.banks[bank].entry().node; entry < nodes_) {
      manifest.entries.push_back({static_cast<uint8_t>(bank), entry});
    }
  }
  return hnsw::EncodeManifest(manifest);
}

hnsw::NodeRecord HnswCheckpointWriter::Record(uint32_t node, size_t level) const {
  const hnsw::NodeInfo& info = core_.nodes.info(node);
  hnsw::NodeRecord record{.node = node,
                          .label = info.label,
                          .generation = info.generation,
                          .level = info.level,
                          .bank = info.bank,
                          .live = core_.live.Get(node)};
  core_.nodes.Links(node, level).AppendTo(&record.links);
  // Links to nodes that were added after the checkpoint began would be out of range.
  std::erase_if(record.links, [this](uint32_t id) { return id >= nodes_; });
  return record;
}

std::string HnswCheckpointWriter::Records(hnsw::ChunkEnd* end) {
  const size_t level = place_.section - size_t{1};
  std::string payload;
  for (; cursor_ < nodes_ && payload.size() < kChunkBytes; ++cursor_) {
    if (!core_.in_graph.Get(cursor_)) {
      continue;
    }
    const size_t level_of_node = core_.nodes.info(cursor_).level;
    if (level_of_node >= level) {
      hnsw::AppendRecord(Record(cursor_, level), level == 0, &payload);
      top_level_ = std::max(top_level_, level_of_node);
    }
  }
  end->of_section = cursor_ == nodes_;
  end->of_checkpoint = end->of_section && level >= top_level_;
  return payload;
}

std::optional<HnswChunk> HnswCheckpointWriter::Next() {
  if (finished_) {
    return std::nullopt;
  }
  hnsw::ChunkEnd end{.of_section = true};
  const std::string payload = place_.section == 0 ? Manifest() : Records(&end);
  HnswChunk chunk{place_.section, place_.chunk, hnsw::SealChunk(place_, end, payload)};
  finished_ = end.of_checkpoint;
  ++place_.chunk;
  if (end.of_section) {
    ++place_.section;
    place_.chunk = 0;
    cursor_ = 0;
  }
  return chunk;
}

}  // namespace ruvd::storage
