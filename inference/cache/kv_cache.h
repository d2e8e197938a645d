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

// Keys and values of a sequence's first tokens, in pages that other sequences may share. Exact for
// causal and block-causal attention only, up to the rounding of the pool's format. Movable, not
// thread-safe.
class KvCache {
 public:
  // Float32 pages of its own, made as they are needed. `capacity`: tokens, never more.
  KvCache(const ModelConfig& config, int capacity);
  // Pages of `pool`, which must have been made for the same model.
  KvCache(std::shared_ptr<KvPool> pool, int capacity);
  KvCache(KvCache&&) noexcept = default;
  // The pages go before the pool that they belong to may go.
  KvCache& operator=(KvCache&& other) noexcept {
    pages_ = std::move(other.pages_);
    pool_ = std::move(other.pool_);
    capacity_ = other.capacity_;
    length_ = std::exchange(other.length_, 0);
    return *this;
  }
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  // Tokens held; the next forward's positions start here.
  int length() const { return length_; }
  int capacity() const { return capacity_; }
  int layers() const { return static_cast<int>(pool_->layout().layers()); }
  const KvLayout& layout() const { return pool_->layout(); }
  // The block table: page i holds the tokens from 16 i on. Covers at least length().
  std::span<const KvPage> pages() const { return pages_; }

  // Forgets all tokens from `length` on and gives back pages that held only such.
  void Truncate(int length);
  // A cache with the same tokens. Pages are shared until one of the two writes to them.
  KvCache Fork() const;
  // The first `length` tokens become those of `pages`, shared; pages.size() covers them exactly.
  // Drops what was held before.
  void Adopt(std::span<const KvPage> pages, int length);

  // How a forward adds tokens: Reserve, then Write for every layer, then Commit.
  // Makes room for tokens [begin, begin + count), begin at most length(), in pages that nobody else
  // holds, copying shared ones. Tokens held before stay valid.
  // Errors: RESOURCE_EXHAUSTED when the pool has no pages left; nothing changed then.
  absl::Status Reserve(int begin, int count);
  // Stores keys and values (count rows of kv_heads * head_size floats, keys rotated) of one layer
  // at positions that were reserved.
  void Write(size_t layer, int begin, int count, const float* keys, const float* values);
  // The tokens before `length` are complete; length() never shrinks by it.
  void Commit(int length);

 private:
  void WriteToken(const KvTile& tile, size_t slot, const float* key, const float* value);

  std::shared_ptr<KvPool> pool_;  // outlives pages_
  int capacity_;
  int length_ = 0;
  std::vector<KvPage> pages_;
};

}  // namespace ruvd::inference
