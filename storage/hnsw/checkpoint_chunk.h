// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/hnsw/metric.h"

// The bytes of a checkpoint; docs/store-format.md describes them with an example. Decoders take
// bytes from outside: they check every number before using it and allocate no more than the bytes
// hold.
namespace ruvd::storage::hnsw {

// The place of a chunk. The checksum covers it, so a chunk of another place, collection or epoch is
// refused like a damaged one.
struct ChunkPlace {
  uint32_t collection = 0;
  uint64_t epoch = 0;
  uint8_t section = 0;  // 0: the manifest; 1 + l: the links of level l
  uint32_t chunk = 0;   // from 0 in each section

  bool operator==(const ChunkPlace&) const = default;
};

// What a chunk ends.
struct ChunkEnd {
  bool of_section = false;
  bool of_checkpoint = false;
};

// Returns header, payload and checksum.
std::string SealChunk(const ChunkPlace& place, const ChunkEnd& end, std::string_view payload);

struct OpenedChunk {
  ChunkEnd end;
  std::string_view payload;  // points into the bytes that were opened
};
// Returns STORE_CORRUPT for anything but what SealChunk made for this place.
absl::StatusOr<OpenedChunk> OpenChunk(const ChunkPlace& place, std::string_view bytes);

// Describes the index and its graphs.
struct Manifest {
  uint32_t dimension = 0;
  HnswMetric metric = HnswMetric::kCosine;
  uint32_t m = 0;
  uint64_t seed = 0;
  uint32_t nodes = 0;  // every node number in the checkpoint is below this
  struct Entry {
    uint8_t bank = 0;
    uint32_t node = 0;
  };
  std::vector<Entry> entries;  // in ascending order of banks
};
std::string EncodeManifest(const Manifest& manifest);
absl::StatusOr<Manifest> DecodeManifest(std::string_view payload);

// A node of level 0, or its links on a higher level. Fields marked 0 are written for level 0 only.
struct NodeRecord {
  uint32_t node = 0;
  uint32_t label = 0;       // 0
  uint32_t generation = 0;  // 0
  uint8_t level = 0;        // 0
  uint8_t bank = 0;         // 0
  bool live = false;        // 0
  std::vector<uint32_t> links;
};
void AppendRecord(const NodeRecord& record, bool of_level_0, std::string* payload);
// Decodes all records of a chunk. Nodes ascend and are below `nodes`; links are below `nodes` too,
// and a record has at most `width` of them.
absl::StatusOr<std::vector<NodeRecord>> DecodeRecords(std::string_view payload, bool of_level_0,
                                                      uint32_t nodes, size_t width);

}  // namespace ruvd::storage::hnsw
