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

// The bytes of a checkpoint; docs/store-format.md has them with an example. Decoders take bytes
// from outside: they check every number before it is used and allocate no more than the bytes hold.
namespace ruvd::storage::hnsw {

// Where a chunk belongs. The checksum covers it, so that a chunk of another place, collection or
// epoch is refused like a damaged one.
struct ChunkPlace {
  uint32_t collection = 0;
  uint64_t epoch = 0;
  uint8_t section = 0;  // 0: the manifest; 1 + l: the links of level l
  uint32_t chunk = 0;   // from 0 in each section

  bool operator==(const ChunkPlace&) const = default;
};

// What a chunk says of itself besides its place.
struct ChunkEnd {
  bool of_section = false;
  bool of_checkpoint = false;
};

// Header, payload and checksum.
std::string SealChunk(const ChunkPlace& place, const ChunkEnd& end, std::string_view payload);

struct OpenedChunk {
  ChunkEnd end;
  std::string_view payload;  // of the bytes given
};
// STORE_CORRUPT for anything but what SealChunk made for this place.
absl::StatusOr<OpenedChunk> OpenChunk(const ChunkPlace& place, std::string_view bytes);

// The index and its graphs.
struct Manifest {
  uint32_t dimension = 0;
  HnswMetric metric = HnswMetric::kCosine;
  uint32_t m = 0;
  uint64_t seed = 0;
  uint32_t nodes = 0;  // all numbers are below it
  struct Entry {
    uint8_t bank = 0;
    uint32_t node = 0;
  };
  std::vector<Entry> entries;  // ascending banks
};
std::string EncodeManifest(const Manifest& manifest);
absl::StatusOr<Manifest> DecodeManifest(std::string_view payload);

// A node of level 0, or its links on a higher one; fields marked 0 are written for level 0 only.
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
// All records of a chunk: nodes ascend and are below `nodes`, so are links, of which a record has
// at most `width`.
absl::StatusOr<std::vector<NodeRecord>> DecodeRecords(std::string_view payload, bool of_level_0,
                                                      uint32_t nodes, size_t width);

}  // namespace ruvd::storage::hnsw
