// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/transformer/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/status.h"
#include "inference/kernels/kernel_table.h"
#include "inference/model/limits.h"

namespace ruvd::inference {
namespace {

// How the work of one sequence is divided. A task is one kv head and some queries, each with all
// query heads that share the kv head, so that a tile of keys is read once for all of them.
struct Plan {
  const AttentionInput* in = nullptr;
  size_t group = 0;         // query heads that share a kv head
  size_t task_queries = 0;  // tokens of one task
  size_t blocks = 0;        // tasks of one kv head
  size_t first_task = 0;
  // Tiles that contain new tokens are first laid out as float32 tiles, including cached tokens of
  // the same tile.
  size_t first_tile = 0;
  size_t tiles = 0;
  size_t first_layout = 0;  // index among the laid-out tiles of all sequences and kv heads
};

// A float32 tile: keys, values, and one scale for each key and value.
struct LaidOutTile {
  float* keys;
  float* values;
  float* key_scales;
  float* value_scales;

  LaidOutTile(float* at, size_t head_size)
      : keys(at),
        values(keys + kKvTileTokens * head_size),
        key_scales(values + kKvTileTokens * KvValueStride(head_size)),
        value_scales(key_scales + kKvTileTokens) {}
  static size_t Floats(size_t head_size) {
    return kKvTileTokens * (head_size + KvValueStride(head_size) + 2);
  }
};

// With a cache, keys and values of a sequence are rounded to the cache's format at once, so the
// result does not depend on whether they were computed in this call or found in the cache.
KvFormat FormatOf(const AttentionInput& in) {
  return in.cache == nullptr ? KvFormat::kF32 : in.cache->layout().format();
}

Plan MakePlan(const AttentionInput& in) {
  Plan plan{.in = &in, .group = in.heads / in.kv_heads};
  plan.task_queries = std::max<size_t>(1, limits::kAttentionRows / plan.group);
  plan.blocks = (in.queries() + plan.task_queries - 1) / plan.task_queries;
  plan.first_tile = in.prefix / kKvTileTokens;
  plan.tiles = (in.prefix + in.tokens + kKvTileTokens - 1) / kKvTileTokens - plan.first_tile;
  return plan;
}

// Copies the cached keys and values of a tile.
void CopyCached(const AttentionInput& in, size_t kv_head, size_t tile, const LaidOutTile& out) {
  const KvTile cached = in.cache->layout().Tile(in.cache->pages()[tile].bytes(), in.layer, kv_head);
  Kernels().widen(cached.format, cached.keys, in.head_size * kKvTileTokens, out.keys);
  Kernels().widen(cached.format, cached.values, KvValueStride(in.head_size) * kKvTileTokens,
                  out.values);
  if (cached.key_scales != nullptr) {
    std::copy_n(cached.key_scales, kKvTileTokens, out.key_scales);
    std::copy_n(cached.value_scales, kKvTileTokens, out.value_scales);
  }
}

// Rounds one new key or value (`size` floats) to a format and returns the scale, which is not
// applied. `out` must have space for whole vectors.
float Round(KvFormat format, const float* from, size_t size, float* out) {
  if (format == KvFormat::kF32) {
    return Kernels().narrow(format, from, size, out);
  }
  std::array<uint8_t, limits::kMaxHeadSize * sizeof(uint16_t)> packed;
  std::fill_n(packed.data(), KvValueStride(size) * sizeof(uint16_t), uint8_t{0});
  const float scale = Kernels().narrow(format, from, size, packed.data());
  Kernels().widen(format, packed.data(), KvValueStride(size), out);
  return scale;
}

void CopyNew(const AttentionInput& in, size_t kv_head, size_t token, size_t slot,
             const LaidOutTile& out) {
  const KvFormat format = FormatOf(in);
  const size_t row = (token * in.kv_heads + kv_head) * in.head_size;
  std::array<float, limits::kMaxHeadSize> key;
  out.key_scales[slot] = Round(format, in.keys + row, in.head_size, key.data());
  for (size_t i = 0; i < in.head_size; ++i) {
    out.keys[i * kKvTileTokens + slot] = key[i];
  }
  out.value_scales[slot] =
      Round(format, in.values + row, in.head_size, out.values + slot * KvValueStride(in.head_size));
}

// Lays out one tile of one head: new tokens, cached tokens that share the tile, and zeros after the
// end.
void LayOutTile(const AttentionInput& in, size_t kv_head, size_t tile, float* at) {
  const LaidOutTile out(at, in.head_size);
  const size_t first = tile * kKvTileTokens;
  const size_t end = in.prefix + in.tokens;
  const bool cached_behind = in.suffix > 0 && first + kKvTileTokens > end;
  if (first < in.prefix || cached_behind) {
    CopyCached(in, kv_head, tile, out);
  } else if (first + kKvTileTokens > end || in.head_size % kKvTileTokens != 0) {
    std::fill_n(at, LaidOutTile::Floats(in.head_size), 0.0F);
  }
  for (size_t slot = 0; slot < kKvTileTokens; ++slot) {
    if (first + slot >= in.prefix && first + slot < end) {
      CopyNew(in, kv_head, first + slot - in.prefix, slot, out);
    }
  }
}

// The buffers of one thread.
struct Workspace {
  std::vector<float> queries, sums, largest, totals, scratch;
  std::vector<VisibleKeys> ranges;  // by token of the task
  std::vector<KeysOfStep> visible;  // by row
};

// One task: queries [first, first + count) of the sequence with all query heads of a kv head. Row q
// * group + g is query `first + q` of the group's head g.
class Task {
 public:
  // `layout` points at the float32 tiles of this sequence and kv head.
  Task(const Plan& plan, size_t kv_head, size_t block, float* layout, Workspace& work)
      : plan_(plan),
        in_(*plan.in),
        kv_head_(kv_head),
        first_(block * plan.task_queries),
        count_(std::min(plan.task_queries, in_.queries() - first_)),
        rows_(count_ * plan.group),
        stride_(KvValueStride(in_.head_size)),
        layout_(layout),
        work_(work) {}

  void Run() {
    Begin();
    size_t end = 0;
    size_t begin = in_.prefix + in_.tokens + in_.suffix;
    shared_ = {0, begin};
    for (const VisibleKeys& ranges : work_.ranges) {
      shared_.begin = std::max(shared_.begin, ranges[0].begin);
      shared_.end = std::min(shared_.end, ranges[0].end);
      for (const KeyRange& range : ranges) {
        begin = range.empty() ? begin : std::min(begin, range.begin);
        end = std::max(end, range.end);
      }
    }
    for (size_t key = begin / kKvStepKeys * kKvStepKeys; key < end; key += kKvStepKeys) {
      Step(key);
    }
    End();
  }

 private:
  size_t HeadOffset(size_t query, size_t head) const {
    return ((first_ + query) * in_.heads + kv_head_ * plan_.group + head) * in_.head_size;
  }

  void Begin() {
    // Scores are in units of log 2, so that softmax needs only powers of two.
    const float scale =
        static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(in_.head_size)));
    work_.queries.resize(rows_ * in_.head_size);
    work_.ranges.resize(count_);
    work_.visible.resize(rows_);
    work_.scratch.resize(AttentionScratchFloats(in_.head_size));
    work_.sums.assign(rows_ * stride_, 0.0F);
    work_.totals.assign(rows_, 0.0F);
    work_.largest.assign(rows_, kNoScore);
    float* out = work_.queries.data();
    for (size_t q = 0; q < count_; ++q) {
      work_.ranges[q] = KeysVisibleTo(in_, in_.RowOf(first_ + q));
      for (size_t g = 0; g < plan_.group; ++g) {
        const float* query = in_.q + HeadOffset(q, g);
        out = std::transform(query, query + in_.head_size, out,
                             [scale](float value) { return value * scale; });
      }
    }
  }

  // Marks which keys from `key` on each row sees. Returns how many of these keys are seen by any
  // row.
  size_t MarkVisible(size_t key) {
    size_t keys = 0;
    if (key >= shared_.begin && key + kKvStepKeys <= shared_.end) {
      if (!all_visible_) {
        std::fill(work_.visible.begin(), work_.visible.end(),
                  KeysOfStep{.begin = {0, 0}, .end = {kKvStepKeys, 0}});
        all_visible_ = true;
      }
      return kKvStepKeys;
    }
    all_visible_ = false;
    for (size_t q = 0; q < count_; ++q) {
      KeysOfStep seen;
      for (size_t i = 0; i < work_.ranges[q].size(); ++i) {
        const KeyRange& range = work_.ranges[q][i];
        const size_t begin = std::clamp(range.begin, key, key + kKvStepKeys) - key;
        const size_t end = std::clamp(range.end, key + begin, key + kKvStepKeys) - key;
        seen.begin[i] = static_cast<uint8_t>(begin);
        seen.end[i] = static_cast<uint8_t>(end);
        keys = end > begin ? std::max(keys, end) : keys;
      }
      std::fill_n(work_.visible.begin() + static_cast<ptrdiff_t>(q * plan_.group), plan_.group,
                  seen);
    }
    return keys;
  }

  KvTile TileAt(size_t tile) const {
    if (tile < plan_.first_tile || tile >= plan_.first_tile + plan_.tiles) {
      return in_.cache->layout().Tile(in_.cache->pages()[tile].bytes(), in_.layer, kv_head_);
    }
    const LaidOutTile laid_out(
        layout_ + (tile - plan_.first_tile) * LaidOutTile::Floats(in_.head_size), in_.head_size);
    KvTile out{.keys = laid_out.keys, .values = laid_out.values};
    if (FormatOf(in_) == KvFormat::kQ8) {
      out.key_scales = laid_out.key_scales;
      out.value_scales = laid_out.value_scales;
    }
    return out;
  }

  void Step(size_t key) {
    const size_t keys = MarkVisible(key);
    if (keys == 0) {
      return;
    }
    KvTile tiles[kKvStepTiles];
    for (size_t i = 0; i * kKvTileTokens < keys; ++i) {
      tiles[i] = TileAt(key / kKvTileTokens + i);
    }
    Kernels().attend({.rows = rows_,
                      .head_size = in_.head_size,
                      .queries = work_.queries.data(),
                      .tiles = tiles,
                      .keys = keys,
                      .visible = work_.visible.data(),
                      .largest = work_.largest.data(),
                      .totals = work_.totals.data(),
                      .sums = work_.sums.data(),
                      .scratch = work_.scratch.data()});
  }

  void End() {
    for (size_t row = 0; row < rows_; ++row) {
      // not zero, because every token sees at least itself
      const float factor = 1.0F / work_.totals[row];
      const float* sums = work_.sums.data() + row * stride_;
      std::transform(sums, sums + in_.head_size,
                     in_.context + HeadOffset(row / plan_.group, row % plan_.group),
                     [factor](float value) { return value * factor; });
    }
  }

  const Plan& plan_;
  const AttentionInput& in_;
  const size_t kv_head_;
  const size_t first_;
  const size_t count_;
  const size_t rows_;
  const size_t stride_;
  float* layout_;
  Workspace& work_;
  KeyRange shared_;           // keys that the first range of every query contains
  bool all_visible_ = false;  // whether `visible` already says that all keys are visible
};

// Returns the plan that contains `number`, where `first` is the field with each plan's first
// number.
const Plan& PlanOf(const std::vector<Plan>& plans, size_t Plan::* first, size_t number) {
  return *std::prev(
      std::upper_bound(plans.begin(), plans.end(), number,
                       [first](size_t value, const Plan& plan) { return value < plan.*first; }));
}

}  // namespace

VisibleKeys KeysVisibleTo(const AttentionInput& input, size_t row) {
  const auto block = static_cast<size_t>(input.attention.block_length);
  const size_t position = input.prefix + row;
  const size_t all = input.prefix + input.tokens + input.suffix;
  switch (input.attention.kind) {
    case Attention::Kind::kBidirectional:
      return {KeyRange{0, all}, KeyRange{}};
    case Attention::Kind::kCausal: {
      const auto window = static_cast<size_t>(input.attention.window);
      const size_t begin = window > 0 && position >= window ? position + 1 - window : 0;
      return {KeyRange{begin, position + 1}, KeyRange{}};
    }
    case Attention::Kind::kBlockCausal:
      return {KeyRange{0, std::min((position / block + 1) * block, all)}, KeyRange{}};
    case Attention::Kind::kNoisyAndClean:
      break;
  }
  const size_t half = input.tokens / 2;
  if (row < half) {
    const size_t begin = row / block * block;
    return {KeyRange{begin, std::min(begin + block, half)}, KeyRange{half, half + begin}};
  }
  const size_t end = std::min(((row - half) / block + 1) * block, half);
  return {KeyRange{}, KeyRange{half, half + end}};
}

void Attend(ParallelRunner& runner, std::span<const AttentionInput> inputs) {
  std::vector<Plan> plans;
  size_t tasks = 0;
  size_t layouts = 0;
  size_t keys = 0;
  for (const AttentionInput& in : inputs) {
    if (in.queries() > 0) {
      Plan& plan = plans.emplace_back(MakePlan(in));
      plan.first_task = tasks;
      plan.first_layout = layouts;
      tasks += in.kv_heads * plan.blocks;
      layouts += in.kv_heads * plan.tiles;
      keys = std::max(keys, in.prefix + in.tokens + in.suffix);
    }
  }
  if (plans.empty()) {
    return;
  }
  const size_t head_size = inputs.front().head_size;
  RUVD_CHECK(head_size > 0);
  const size_t tile_floats = LaidOutTile::Floats(head_size);
  thread_local std::vector<float> kept;  // too large to allocate again for every layer
  // Short sequences need up to twice the tiles for the same number of tokens, because their last
  // tiles are not full.
  const size_t keep = 2 * limits::kKeptRows / kKvTileTokens * inputs.front().kv_heads * tile_floats;
  if (kept.capacity() > keep && layouts * tile_floats <= keep) {
    kept = std::vector<float>();
  }
  kept.resize(layouts * tile_floats);
  float* layout = kept.data();
  runner.For(layouts, limits::kMinTaskProducts / 16 / tile_floats + 1,
             [&](size_t begin, size_t end) {
               for (size_t i = begin; i < end; ++i) {
                 const Plan& plan = PlanOf(plans, &Plan::first_layout, i);
                 const size_t index = i - plan.first_layout;
                 LayOutTile(*plan.in, index / plan.tiles, plan.first_tile + index % plan.tiles,
                            layout + i * tile_floats);
               }
             });
  const size_t products = 2 * limits::kAttentionRows * keys * head_size;
  runner.For(tasks, limits::kMinTaskProducts / products + 1, [&](size_t begin, size_t end) {
    thread_local Workspace work;
    for (size_t i = begin; i < end; ++i) {
      const Plan& plan = PlanOf(plans, &Plan::first_task, i);
      const size_t kv_head = (i - plan.first_task) / plan.blocks;
      Task(plan, kv_head, (i - plan.first_task) % plan.blocks,
           layout + (plan.first_layout + kv_head * plan.tiles) * tile_floats, work)
          .Run();
    }
  });
}

}  // namespace ruvd::inference
