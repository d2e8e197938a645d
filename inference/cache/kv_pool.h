// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/kernels/attention_step.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// Returns "f32", "f16" or "q8".
std::string_view KvFormatName(KvFormat format);
// Returns the format of that name. For another name the INVALID_ARGUMENT error lists the three.
absl::StatusOr<KvFormat> ParseKvFormat(std::string_view name);

// Where the keys and values of one page lie: layer by layer and head by head, each with a KvTile's
// keys, values and scales one after the other. A page holds kKvTileTokens tokens of all layers.
class KvLayout {
 public:
  KvLayout(const ModelConfig& config, KvFormat format);

  KvFormat format() const { return format_; }
  size_t layers() const { return layers_; }
  size_t kv_heads() const { return kv_heads_; }
  size_t head_size() const { return head_size_; }
  uint64_t page_bytes() const { return layers_ * kv_heads_ * head_bytes_; }
  // Returns the bytes of one stored value, without its share of the scale.
  size_t value_bytes() const { return value_bytes_; }
  // Returns the tile of a layer and head in a page of page_bytes().
  KvTile Tile(const uint8_t* page, size_t layer, size_t kv_head) const;
  // Caches with equal layouts may exchange pages.
  bool operator==(const KvLayout& other) const = default;

 private:
  KvFormat format_;
  size_t layers_;
  size_t kv_heads_;
  size_t head_size_;
  size_t value_bytes_;
  size_t head_bytes_;  // of one head in one layer
};

class KvPool;

// A counted reference to a page. The page returns to its pool when the last reference is gone; the
// pool must outlive all references. Copies share the page. Only a sole holder may write to it.
class KvPage {
 public:
  KvPage() = default;
  KvPage(const KvPage& other);
  KvPage(KvPage&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  KvPage& operator=(KvPage other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~KvPage();

  // Returns whether another reference to the page exists.
  bool shared() const;
  const uint8_t* bytes() const;
  uint8_t* mutable_bytes();
  // Returns whether both refer to the same page; equal contents are not enough.
  bool operator==(const KvPage& other) const { return block_ == other.block_; }

 private:
  friend class KvPool;
  struct Block;
  explicit KvPage(Block* block) : block_(block) {}

  Block* block_ = nullptr;
};

// A pool of pages for keys and values with a hard budget. Thread-safe: one thread may read its
// pages while others allocate and release pages.
class KvPool {
 public:
  struct Usage {
    uint64_t pages = 0;         // referenced by at least one holder
    uint64_t shared_pages = 0;  // referenced by more than one
    uint64_t bytes = 0;         // of `pages`
    uint64_t budget_bytes = 0;
  };
  // Called when the budget is used up, to free at least `pages` pages if possible. It is called on
  // the allocating thread, without a lock held.
  using Reclaimer = std::function<void(uint64_t pages)>;

  // Creates a pool whose pages never exceed `budget_bytes`. Errors: INVALID_ARGUMENT if not even
  // one page fits.
  static absl::StatusOr<std::shared_ptr<KvPool>> Create(const ModelConfig& config, KvFormat format,
                                                        uint64_t budget_bytes);
  // Creates a float32 pool without a budget, for a holder that limits its own length.
  static std::shared_ptr<KvPool> CreatePrivate(const ModelConfig& config);
  ~KvPool();
  KvPool(const KvPool&) = delete;
  KvPool& operator=(const KvPool&) = delete;

  const KvLayout& layout() const { return layout_; }
  uint64_t budget_pages() const { return budget_pages_; }
  Usage usage() const;

  // Adds `count` pages to `pages`, or none of them after an error. Their contents are unspecified
  // but finite. Errors: RESOURCE_EXHAUSTED with KV_BUDGET_EXCEEDED if the budget does not allow
  // them even after reclaiming.
  absl::Status Allocate(uint64_t count, std::vector<KvPage>* pages);

  // Null means no reclaimer. Must not be called while another thread allocates.
  void set_reclaimer(Reclaimer reclaimer) { reclaimer_ = std::move(reclaimer); }

 private:
  friend class KvPage;
  KvPool(const KvLayout& layout, uint64_t budget_pages);
  bool TryAllocate(uint64_t count, std::vector<KvPage>* pages);
  void Retain(KvPage::Block* block);
  void Release(KvPage::Block* block);

  const KvLayout layout_;
  const uint64_t budget_pages_;
  Reclaimer reclaimer_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<KvPage::Block>> blocks_;  // all blocks ever allocated
  std::vector<KvPage::Block*> idle_;
  uint64_t shared_ = 0;
};

}  // namespace ruvd::inference
