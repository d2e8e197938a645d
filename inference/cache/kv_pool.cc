// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/cache/kv_pool.h"

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference {
namespace {

size_t ValueBytes(KvFormat format) {
  switch (format) {
    case KvFormat::kF32:
      return 4;
    case KvFormat::kF16:
      return 2;
    case KvFormat::kQ8:
      break;
  }
  return 1;
}

}  // namespace

std::string_view KvFormatName(KvFormat format) {
  switch (format) {
    case KvFormat::kF32:
      return "f32";
    case KvFormat::kF16:
      return "f16";
    case KvFormat::kQ8:
      break;
  }
  return "q8";
}

absl::StatusOr<KvFormat> ParseKvFormat(std::string_view name) {
  for (const KvFormat format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8}) {
    if (name == KvFormatName(format)) {
      return format;
    }
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "\"{}\" is not a format of keys and values; use f32, f16 or q8", name);
}

KvLayout::KvLayout(const ModelConfig& config, KvFormat format)
    : format_(format),
      layers_(static_cast<size_t>(config.layers)),
      kv_heads_(static_cast<size_t>(config.kv_heads)),
      head_size_(static_cast<size_t>(config.head_size)),
      value_bytes_(ValueBytes(format)) {
  const size_t scales = format == KvFormat::kQ8 ? 2 * sizeof(float) : 0;
  head_bytes_ = kKvTileTokens * ((head_size_ + KvValueStride(head_size_)) * value_bytes_ + scales);
}

KvTile KvLayout::Tile(const uint8_t* page, size_t layer, size_t kv_head) const {
  const uint8_t* keys = page + (layer * kv_heads_ + kv_head) * head_bytes_;
  const uint8_t* values = keys + kKvTileTokens * head_size_ * value_bytes_;
  KvTile tile{.format = format_, .keys = keys, .values = values};
  // the bytes before the scales are a multiple of 16, so the scales are aligned
  if (format_ == KvFormat::kQ8) {
    const uint8_t* scales = values + kKvTileTokens * KvValueStride(head_size_);
    tile.key_scales = reinterpret_cast<const float*>(scales);
    tile.value_scales = tile.key_scales + kKvTileTokens;
  }
  return tile;
}

struct KvPage::Block {
  KvPool* pool = nullptr;
  uint32_t references = 0;  // guarded by the pool's mutex
  hwy::AlignedFreeUniquePtr<uint8_t[]> bytes;
};

KvPage::KvPage(const KvPage& other) : block_(other.block_) {
  if (block_ != nullptr) {
    block_->pool->Retain(block_);
  }
}

KvPage::~KvPage() {
  if (block_ != nullptr) {
    block_->pool->Release(block_);
  }
}

bool KvPage::shared() const {
  const std::lock_guard lock(block_->pool->mutex_);
  return block_->references > 1;
}

const uint8_t* KvPage::bytes() const {
  return block_->bytes.get();
}

uint8_t* KvPage::mutable_bytes() {
  return block_->bytes.get();
}

KvPool::KvPool(const KvLayout& layout, uint64_t budget_pages)
    : layout_(layout), budget_pages_(budget_pages) {}

KvPool::~KvPool() {
  RUVD_CHECK(idle_.size() == blocks_.size());  // otherwise a page has outlived its pool
}

absl::StatusOr<std::shared_ptr<KvPool>> KvPool::Create(const ModelConfig& config, KvFormat format,
                                                       uint64_t budget_bytes) {
  const KvLayout layout(config, format);
  if (budget_bytes < layout.page_bytes()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a key-value budget of {} bytes does not hold one page of {} tokens, {} bytes in "
                 "{}; raise inference.kv_bytes",
                 budget_bytes, kKvTileTokens, layout.page_bytes(), KvFormatName(format));
  }
  return std::shared_ptr<KvPool>(new KvPool(layout, budget_bytes / layout.page_bytes()));
}

std::shared_ptr<KvPool> KvPool::CreatePrivate(const ModelConfig& config) {
  return std::shared_ptr<KvPool>(
      new KvPool(KvLayout(config, KvFormat::kF32), std::numeric_limits<uint64_t>::max()));
}

KvPool::Usage KvPool::usage() const {
  const std::lock_guard lock(mutex_);
  const uint64_t pages = blocks_.size() - idle_.size();
  return {
      .pages = pages,
      .shared_pages = shared_,
      .bytes = pages * layout_.page_bytes(),
      .budget_bytes = budget_pages_ <= std::numeric_limits<uint64_t>::max() / layout_.page_bytes()
                          ? budget_pages_ * layout_.page_bytes()
                          : std::numeric_limits<uint64_t>::max()};
}

absl::Status KvPool::Allocate(uint64_t count, std::vector<KvPage>* pages) {
  if (TryAllocate(count, pages)) {
    return absl::OkStatus();
  }
  if (reclaimer_ && count <= budget_pages_) {
    const uint64_t free = budget_pages_ - usage().pages;
    reclaimer_(count - std::min(count, free));
    if (TryAllocate(count, pages)) {
      return absl::OkStatus();
    }
  }
  const Usage now = usage();
  return Error(absl::StatusCode::kResourceExhausted, reasons::kKvBudgetExceeded,
               "{} more bytes of keys and values would exceed the budget of {}, of which {} are in "
               "use; retry when other requests are done, shorten the text or raise "
               "inference.kv_bytes",
               count * layout_.page_bytes(), now.budget_bytes, now.bytes);
}

bool KvPool::TryAllocate(uint64_t count, std::vector<KvPage>* pages) {
  const std::lock_guard lock(mutex_);
  const uint64_t used = blocks_.size() - idle_.size();
  if (count > budget_pages_ - used) {
    return false;
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (idle_.empty()) {
      auto block = std::make_unique<KvPage::Block>();
      block->pool = this;
      block->bytes = hwy::AllocateAligned<uint8_t>(layout_.page_bytes());
      RUVD_CHECK(block->bytes != nullptr);
      // The padding of value rows is never written, but it must be finite.
      std::memset(block->bytes.get(), 0, layout_.page_bytes());
      idle_.push_back(block.get());
      blocks_.push_back(std::move(block));
    }
    idle_.back()->references = 1;
    pages->push_back(KvPage(idle_.back()));
    idle_.pop_back();
  }
  return true;
}

void KvPool::Retain(KvPage::Block* block) {
  const std::lock_guard lock(mutex_);
  shared_ += ++block->references == 2 ? 1 : 0;
}

void KvPool::Release(KvPage::Block* block) {
  const std::lock_guard lock(mutex_);
  const uint32_t left = --block->references;
  if (left == 1) {
    --shared_;
  } else if (left == 0) {
    idle_.push_back(block);
  }
}

}  // namespace ruvd::inference
