// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "storage/hnsw/checkpoint_chunk.h"
#include "storage/hnsw/hnsw_index.h"

namespace ruvd::storage {

// One value of a checkpoint. Its row has the key (epoch, section, chunk).
struct HnswChunk {
  uint8_t section = 0;
  uint32_t chunk = 0;
  std::string bytes;  // about 16 KiB
};

// Cuts the graphs of an index into chunks. It reads as a search does: on any thread, while the
// writer of the index continues. Nodes that the writer removes meanwhile are not reused while this
// object exists, so no link can come to mean another row. Rows that are added meanwhile may be
// missing from the checkpoint; after a restore they are in the flat tail.
class HnswCheckpointWriter {
 public:
  // `index` must outlive this object. The owner chooses a higher epoch for each checkpoint.
  HnswCheckpointWriter(const HnswIndex& index, uint32_t collection, uint64_t epoch);

  // Returns the next chunk in the order of keys, or nothing after the last one.
  std::optional<HnswChunk> Next();

 private:
  hnsw::NodeRecord Record(uint32_t node, size_t level) const;
  std::string Manifest() const;
  // Returns the records of one chunk, from cursor_ on. Sets `end` when they are the last ones of
  // their section or of the checkpoint.
  std::string Records(hnsw::ChunkEnd* end);

  const hnsw::IndexCore& core_;
  const hnsw::ReaderEpochs::Pin pin_;
  const uint32_t nodes_;
  hnsw::ChunkPlace place_;
  uint32_t cursor_ = 0;
  size_t top_level_ = 0;
  bool finished_ = false;
};

struct HnswRestored {
  size_t linked = 0;  // rows that are in their graphs again
  // nodes of the checkpoint whose rows are gone or changed; links go around them
  size_t missing = 0;
  size_t orphans = 0;  // rows that no link leads to any more; they are in the tail
};

// Restores the graphs of an index that holds its rows (each was Put with its generation) and has
// linked none of them yet. Rows that changed since the checkpoint stay in the tail. Only the
// writer's thread may use it.
class HnswCheckpointReader {
 public:
  HnswCheckpointReader(HnswIndex& index, uint32_t collection, uint64_t epoch);

  // Takes the chunks in the order of their keys. Returns STORE_CORRUPT for a chunk that is damaged
  // or out of order, and for a manifest of an index with other options. The index is unchanged
  // then, and the owner links all rows instead.
  absl::Status Add(uint8_t section, uint32_t chunk, std::string_view bytes);

  // Applies the checkpoint. Call it once. Returns STORE_CORRUPT and changes nothing when chunks are
  // missing.
  absl::StatusOr<HnswRestored> Finish();

 private:
  struct Staged {
    hnsw::NodeRecord record;
    uint32_t node = hnsw::kNoNode;  // in the index; kNoNode when its row is gone or changed
    std::vector<std::vector<uint32_t>> upper;  // links of levels 1 and up
  };
  // What Target needs to know of a node. It is small because links lead to random nodes.
  struct Mapped {
    uint32_t node = hnsw::kNoNode;  // in the index, as in Staged
    uint8_t bank = 0;
    uint8_t level = 0;
  };

  absl::Status AddManifest(std::string_view payload);
  absl::Status AddRecords(size_t level, std::string_view payload);
  void MapNodes();
  const std::vector<uint32_t>& LinksOf(const Staged& staged, size_t level) const;
  // Returns the node in the index that a link leads to on a level, or kNoNode when it is gone.
  uint32_t Target(uint32_t link, size_t level, uint8_t bank) const;
  // Writes the links of a node on a level. Returns false when some of the nodes they led to are
  // gone, so that others may replace them.
  bool ApplyLinks(const Staged& staged, size_t level);
  void RepairLinks(const Staged& staged, size_t level);
  void SetEntries();

  HnswIndex& index_;
  hnsw::ChunkPlace next_;
  hnsw::Manifest manifest_;
  std::vector<Staged> staged_;  // in ascending order of nodes
  // place in staged_ by the checkpoint's node; kNoNode when absent
  std::vector<uint32_t> staged_at_;
  std::vector<Mapped> mapped_;  // by the checkpoint's node
  uint32_t last_node_ = 0;
  bool first_record_ = true;
  bool complete_ = false;
  bool failed_ = false;
};

}  // namespace ruvd::storage
