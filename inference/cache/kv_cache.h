// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "inference/cache/kv_pool.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// Keys and values of a sequence's first tokens, in pages that other sequences may share. The cache
// is exact only for causal and block-causal attention, up to the rounding of the pool's format. It
// is movable but not thread-safe.
class KvCache {
 public:
  // Creates a cache with float32 pages of its own, allocated as needed. `capacity` is the largest
  // number of tokens.
  KvCache(const ModelConfig& config, int capacity);
  // Creates a cache with pages of `pool`, which must have been created for the same model.
  KvCache(std::shared_ptr<KvPool> pool, int capacity);
  KvCache(KvCache&&) noexcept = default;
  // The pages must be released before their pool may be destroyed.
  KvCache& operator=(KvCache&& other) noexcept {
    pages_ = std::move(other.pages_);
    pool_ = std::move(other.pool_);
    capacity_ = other.capacity_;
    length_ = std::exchange(other.length_, 0);
    return *this;
  }
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  // Returns the number of tokens held. The next forward's positions start here.
  int length() const { return length_; }
  int capacity() const { return capacity_; }
  int layers() const { return static_cast<int>(pool_->layout().layers()); }
  const KvLayout& layout() const { return pool_->layout(); }
  // Returns the block table: page i holds the tokens from 16 i on. It covers at least length()
  // tokens.
  std::span<const KvPage> pages() const { return pages_; }

  // Drops all tokens from `length` on, and releases pages that held only such tokens.
  void Truncate(int length);
  // Returns a cache with the same tokens. The two share pages until one of them writes to a page.
  KvCache Fork() const;
  // Replaces the contents by `pages`, which are then shared and hold the first `length` tokens.
  // pages.size() must cover exactly that many tokens.
  void Adopt(std::span<const KvPage> pages, int length);

  // A forward adds tokens in three steps: Reserve, then Write for every layer, then Commit. Reserve
  // makes space for tokens [begin, begin + count), where begin is at most length(), in pages that
  // are not shared, and copies shared ones. Tokens held before stay valid. Errors:
  // RESOURCE_EXHAUSTED if the pool has no pages left; nothing has changed then.
  absl::Status Reserve(int begin, int count);
  // Stores keys and values of one layer (count rows of kv_heads * head_size floats, keys rotated)
  // at positions that were reserved.
  void Write(size_t layer, int begin, int count, const float* keys, const float* values);
  // Marks the tokens before `length` as complete. This never makes length() smaller.
  void Commit(int length);

 private:
  void WriteToken(const KvTile& tile, size_t slot, const float* key, const float* value);

  std::shared_ptr<KvPool> pool_;  // must outlive pages_
  int capacity_;
  int length_ = 0;
  std::vector<KvPage> pages_;
};

}  // namespace ruvd::inference
