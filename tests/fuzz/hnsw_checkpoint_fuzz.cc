// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of the vector index. The input is cut into chunks that get correct checksums, so that
// the decoders behind the checksum are reached: whatever they accept must give an index that
// searches, links and repairs.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/hnsw/checkpoint.h"

namespace ruvd {
namespace {

constexpr uint32_t kDimension = 4;
constexpr uint32_t kRows = 12;
constexpr storage::HnswOptions kOptions{
    .dimension = kDimension, .m = 2, .ef_construction = 8, .seed = 0, .max_rows = 64};

std::unique_ptr<storage::HnswIndex> SmallIndex() {
  auto index = storage::HnswIndex::Create(kOptions).value();
  for (uint32_t i = 0; i < kRows; ++i) {
    const std::array<float, kDimension> row = {1.0F, static_cast<float>(i), 0.5F, -1.0F};
    RUVD_CHECK(index->Put({.label = i, .generation = 1, .vector = row}).ok());
  }
  return index;
}

// Each chunk follows two bytes with its length; the manifest is a good one.
void Restore(std::string_view bytes) {
  const std::unique_ptr<storage::HnswIndex> index = SmallIndex();
  storage::HnswCheckpointReader reader(*index, 0, 1);
  const std::string manifest = storage::hnsw::EncodeManifest(
      {.dimension = kDimension, .m = 2, .seed = 0, .nodes = 16, .entries = {{0, 3}}});
  storage::hnsw::ChunkPlace place{.epoch = 1};
  RUVD_CHECK(
      reader.Add(0, 0, storage::hnsw::SealChunk(place, {.of_section = true}, manifest)).ok());
  place.section = 1;
  ByteReader input(AsBytes(bytes));
  while (input.remaining() > 2) {
    const uint8_t flags = *input.Read<uint8_t>();
    const size_t length = std::min<size_t>(*input.Read<uint8_t>() * size_t{8}, input.remaining());
    const storage::hnsw::ChunkEnd end{(flags & 1) != 0, (flags & 2) != 0};
    const std::string chunk =
        storage::hnsw::SealChunk(place, end, AsText(*input.ReadBytes(length)));
    if (!reader.Add(place.section, place.chunk, chunk).ok()) {
      break;
    }
    ++place.chunk;
    if (end.of_section) {
      ++place.section;
      place.chunk = 0;
    }
  }
  (void)reader.Finish();  // refused or applied: the index must work
  const std::array<float, kDimension> query = {1, 2, 3, 4};
  // Searches whatever graph there is, with a narrow and with a complete search.
  for (const size_t k : {size_t{2}, size_t{kRows}}) {
    RUVD_CHECK(index->Search({.vector = query, .k = k, .ef = k, .path = storage::HnswPath::kWalk})
                   ->size() == k);
  }
  index->LinkBatch(kRows);
  RUVD_CHECK(index->Remove(1));
  while (index->RepairBatch(64, true)) {
  }
  RUVD_CHECK(index->Search({.vector = query, .k = kRows})->size() == kRows - 1);
}

}  // namespace
}  // namespace ruvd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = ruvd::AsText({data, size});
  RUVD_CHECK(!ruvd::storage::hnsw::OpenChunk({}, bytes).ok());
  if (const auto manifest = ruvd::storage::hnsw::DecodeManifest(bytes); manifest.ok()) {
    RUVD_CHECK(ruvd::storage::hnsw::EncodeManifest(*manifest) == bytes);
  }
  ruvd::Restore(bytes);
  return 0;
}
