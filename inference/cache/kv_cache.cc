// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/cache/kv_cache.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/status.h"
#include "inference/kernels/kernel_table.h"
#include "inference/model/limits.h"

namespace ruvd::inference {
namespace {

constexpr int kPageTokens = static_cast<int>(kKvTileTokens);

size_t PagesFor(int tokens) {
  return static_cast<size_t>((tokens + kPageTokens - 1) / kPageTokens);
}

// Writes a packed key into its column of the transposed tile.
template <class Value>
void Scatter(const uint8_t* packed, size_t count, size_t slot, void* keys) {
  auto* out = static_cast<uint8_t*>(keys) + slot * sizeof(Value);
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(out + i * kKvTileTokens * sizeof(Value), packed + i * sizeof(Value), sizeof(Value));
  }
}

}  // namespace

KvCache::KvCache(const ModelConfig& config, int capacity)
    : KvCache(KvPool::CreatePrivate(config), capacity) {}

KvCache::KvCache(std::shared_ptr<KvPool> pool, int capacity)
    : pool_(std::move(pool)), capacity_(capacity) {}

void KvCache::Truncate(int length) {
  length_ = std::clamp(length, 0, length_);
  pages_.resize(PagesFor(length_));
}

KvCache KvCache::Fork() const {
  KvCache fork(pool_, capacity_);
  fork.Adopt(std::span(pages_).first(PagesFor(length_)), length_);
  return fork;
}

void KvCache::Adopt(std::span<const KvPage> pages, int length) {
  RUVD_CHECK(length <= capacity_ && pages.size() == PagesFor(length));
  pages_.assign(pages.begin(), pages.end());
  length_ = length;
}

absl::Status KvCache::Reserve(int begin, int count) {
  RUVD_CHECK(begin >= 0 && begin <= length_ && count >= 0 && count <= capacity_ - begin);
  const auto first = static_cast<size_t>(begin / kPageTokens);
  const size_t last = PagesFor(begin + count);
  std::vector<size_t> replaced;
  for (size_t i = first; i < std::min(last, pages_.size()); ++i) {
    if (pages_[i].shared()) {
      replaced.push_back(i);
    }
  }
  const size_t added = last > pages_.size() ? last - pages_.size() : 0;
  std::vector<KvPage> fresh;
  RETURN_IF_ERROR(pool_->Allocate(replaced.size() + added, &fresh));
  for (size_t i = 0; i < replaced.size(); ++i) {
    KvPage& page = pages_[replaced[i]];
    std::memcpy(fresh[i].mutable_bytes(), page.bytes(), layout().page_bytes());
    page = std::move(fresh[i]);
  }
  std::move(fresh.begin() + static_cast<ptrdiff_t>(replaced.size()), fresh.end(),
            std::back_inserter(pages_));
  return absl::OkStatus();
}

void KvCache::Write(size_t layer, int begin, int count, const float* keys, const float* values) {
  RUVD_CHECK(PagesFor(begin + count) <= pages_.size());
  const KvLayout& shape = layout();
  for (int i = 0; i < count; ++i) {
    const auto page = static_cast<size_t>((begin + i) / kPageTokens);
    const auto slot = static_cast<size_t>((begin + i) % kPageTokens);
    for (size_t head = 0; head < shape.kv_heads(); ++head) {
      const size_t row = (static_cast<size_t>(i) * shape.kv_heads() + head) * shape.head_size();
      WriteToken(shape.Tile(pages_[page].mutable_bytes(), layer, head), slot, keys + row,
                 values + row);
    }
  }
}

// The tile's pointers are const because readers share them. Here they point into a page that only
// this cache holds.
void KvCache::WriteToken(const KvTile& tile, size_t slot, const float* key, const float* value) {
  const size_t head_size = layout().head_size();
  std::array<uint8_t, limits::kMaxHeadSize * sizeof(float)> packed;
  const float key_scale = Kernels().narrow(tile.format, key, head_size, packed.data());
  void* keys = const_cast<void*>(tile.keys);
  auto* row = static_cast<uint8_t*>(const_cast<void*>(tile.values)) +
              slot * KvValueStride(head_size) * layout().value_bytes();
  const float value_scale = Kernels().narrow(tile.format, value, head_size, row);
  switch (tile.format) {
    case KvFormat::kF32:
      return Scatter<float>(packed.data(), head_size, slot, keys);
    case KvFormat::kF16:
      return Scatter<uint16_t>(packed.data(), head_size, slot, keys);
    case KvFormat::kQ8:
      Scatter<int8_t>(packed.data(), head_size, slot, keys);
      const_cast<float*>(tile.key_scales)[slot] = key_scale;
      const_cast<float*>(tile.value_scales)[slot] = value_scale;
  }
}

void KvCache::Commit(int length) {
  RUVD_CHECK(length <= capacity_ && PagesFor(length) <= pages_.size());
  length_ = std::max(length_, length);
}

}  // namespace ruvd::inference
