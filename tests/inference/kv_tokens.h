// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "inference/cache/kv_cache.h"
#include "inference/gguf/half.h"

namespace ruvd::test {

// The shape of a model of which only the cache matters.
inline inference::ModelConfig KvShape(int layers, int heads, int kv_heads, int head_size) {
  return {.layers = layers, .heads = heads, .kv_heads = kv_heads, .head_size = head_size};
}

inline std::vector<float> NormalFloats(Random& random, size_t count) {
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(random.Normal());
  }
  return values;
}

// One stored value: `index` within the tile's keys or values.
inline double StoredValue(inference::KvFormat format, const void* from, const float* scales,
                          size_t index, size_t token) {
  switch (format) {
    case inference::KvFormat::kF32:
      return static_cast<double>(static_cast<const float*>(from)[index]);
    case inference::KvFormat::kF16:
      return static_cast<double>(inference::HalfToFloat(static_cast<const uint16_t*>(from)[index]));
    case inference::KvFormat::kQ8:
      break;
  }
  return static_cast<double>(scales[token]) *
         static_cast<double>(static_cast<const int8_t*>(from)[index]);
}

// The key and value of a token and head as the cache has them, read without the kernels.
inline std::pair<std::vector<double>, std::vector<double>> StoredToken(
    const inference::KvCache& cache, size_t layer, size_t head, size_t token) {
  const inference::KvLayout& layout = cache.layout();
  const inference::KvTile tile =
      layout.Tile(cache.pages()[token / inference::kKvTileTokens].bytes(), layer, head);
  const size_t slot = token % inference::kKvTileTokens;
  std::vector<double> key;
  std::vector<double> value;
  for (size_t i = 0; i < layout.head_size(); ++i) {
    key.push_back(StoredValue(tile.format, tile.keys, tile.key_scales,
                              i * inference::kKvTileTokens + slot, slot));
    value.push_back(StoredValue(tile.format, tile.values, tile.value_scales,
                                slot * inference::KvValueStride(layout.head_size()) + i, slot));
  }
  return {key, value};
}

// Appends `tokens` rows to every layer, the same for all of them.
inline absl::Status AppendRows(inference::KvCache* cache, int tokens, const float* keys,
                               const float* values) {
  const int begin = cache->length();
  RETURN_IF_ERROR(cache->Reserve(begin, tokens));
  for (size_t layer = 0; layer < cache->layout().layers(); ++layer) {
    cache->Write(layer, begin, tokens, keys, values);
  }
  cache->Commit(begin + tokens);
  return absl::OkStatus();
}

}  // namespace ruvd::test
