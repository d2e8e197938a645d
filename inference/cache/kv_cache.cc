// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/cache/kv_cache.h"

#include <algorithm>

#include "base/status.h"

namespace ruvd {

KvCache::KvCache(const ModelConfig& config, int capacity) : capacity_(capacity) {
  const auto kv_width =
      static_cast<size_t>(config.kv_heads) * static_cast<size_t>(config.head_size);
  keys_.assign(static_cast<size_t>(config.layers),
               std::vector<float>(static_cast<size_t>(capacity) * kv_width));
  values_ = keys_;
}

void KvCache::Truncate(int length) {
  length_ = std::clamp(length, 0, length_);
}

void KvCache::Extend(int length) {
  RUVD_CHECK(length >= 0 && length <= capacity_);
  length_ = std::max(length_, length);
}

}  // namespace ruvd
