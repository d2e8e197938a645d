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

// One value of a checkpoint, for a row with the key (epoch, section, chunk).
struct HnswChunk {
  uint8_t section = 0;
  uint32_t chunk = 0;
  std::string bytes;  // about 16 KiB
};

// Cuts the graphs of an index into chunks. It reads as a search does: on any thread, while the
// writer goes on. What the writer removes meanwhile is not reused before the writer of the
// checkpoint is gone, so that no link can come to mean another row; what it adds may be left out
// and is in the flat tail after a restore.
class HnswCheckpointWriter {
 public:
  // `index` outlives this. The owner chooses a higher epoch for each checkpoint.
  HnswCheckpointWriter(const HnswIndex& index, uint32_t collection, uint64_t epoch);

  // The next chunk in the order of keys; nothing after the last.
  std::optional<HnswChunk> Next();

 private:
  hnsw::NodeRecord Record(uint32_t node, size_t level) const;
  std::string Manifest() const;
  // Records of one chunk; moves on to the next section at the end.
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
  size_t linked = 0;   // rows that are in their graphs again
  size_t missing = 0;  // nodes of the checkpoint whose rows are gone or changed; mended around
  size_t orphans = 0;  // rows that the links no longer lead to; in the tail
};

// Restores the graphs of an index that holds its rows (each Put with its generation), none of them
// linked yet. Rows that changed since the checkpoint stay in the tail. Used by the writer's thread.
class HnswCheckpointReader {
 public:
  HnswCheckpointReader(HnswIndex& index, uint32_t collection, uint64_t epoch);

  // Takes the chunks in the order of their keys. STORE_CORRUPT for one that is damaged or out of
  // order; nothing was changed then, and the owner links all rows instead.
  absl::Status Add(uint8_t section, uint32_t chunk, std::string_view bytes);

  // Applies the checkpoint, once. STORE_CORRUPT where chunks are missing or it is of an index with
  // other options; nothing was changed then.
  absl::StatusOr<HnswRestored> Finish();

 private:
  struct Staged {
    hnsw::NodeRecord record;
    uint32_t node = hnsw::kNoNode;             // in the index; none: its row is gone or changed
    std::vector<std::vector<uint32_t>> upper;  // links of levels 1 and up
  };
  // What a link needs to know of the node it leads to, few bytes because links lead anywhere.
  struct Mapped {
    uint32_t node = hnsw::kNoNode;  // in the index, as in Staged
    uint8_t bank = 0;
    uint8_t level = 0;
  };

  absl::Status AddManifest(std::string_view payload);
  absl::Status AddRecords(size_t level, std::string_view payload);
  void MapNodes();
  const std::vector<uint32_t>& LinksOf(const Staged& staged, size_t level) const;
  // The node in the index that a link leads to on a level; kNoNode where it leads nowhere now.
  uint32_t Target(uint32_t link, size_t level, uint8_t bank) const;
  // Writes the links of a node on a level; false if some of them are gone and others may replace
  // them.
  bool ApplyLinks(const Staged& staged, size_t level);
  void Mend(const Staged& staged, size_t level);
  void SetEntries();

  HnswIndex& index_;
  hnsw::ChunkPlace next_;
  hnsw::Manifest manifest_;
  std::vector<Staged> staged_;       // ascending
  std::vector<uint32_t> staged_at_;  // by the checkpoint's node; kNoNode where there is none
  std::vector<Mapped> mapped_;       // by the checkpoint's node
  uint32_t last_node_ = 0;
  bool first_record_ = true;
  bool complete_ = false;
  bool failed_ = false;
};

}  // namespace ruvd::storage
