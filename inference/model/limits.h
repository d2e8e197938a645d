// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// Limits of a model's configuration, checked before memory is allocated according to it, and the
// sizes that divide the work. The largest open models stay well below these limits; a larger number
// means a broken file.
namespace ruvd::limits {

inline constexpr uint64_t kMaxLayers = 512;
inline constexpr uint64_t kMaxWidth = 1 << 16;
inline constexpr uint64_t kMaxFfn = 1 << 18;
inline constexpr uint64_t kMaxHeads = 1024;
inline constexpr uint64_t kMaxHeadSize = 1024;
inline constexpr uint64_t kMaxVocabulary = 1 << 20;
inline constexpr uint64_t kMaxContext = 1 << 20;

// The sum of the ranks that all adapters of a mix apply to one matrix. In the models served here, a
// larger rank would cost more than the matrix itself.
inline constexpr int kMaxStackedRank = 1024;
// Mixes kept prepared between forward passes, in addition to those of the current one: enough for
// the requests of a batch and their timestep banks, but no more memory than a small node can spare.
inline constexpr size_t kMaxPreparedMixes = 16;
inline constexpr size_t kMaxPreparedMixBytes = 32 << 20;

// The embedding of a text uses at most this many of its last tokens. One forward of 512 tokens of a
// 7B model takes 130 MB of activations and takes no longer than a batch of completions, so other
// requests do not wait long.
inline constexpr size_t kEmbeddedTokens = 512;
// A transformer keeps memory for the activations of this many tokens. Memory that a longer forward
// took in addition is freed by the next shorter one.
inline constexpr size_t kKeptRows = 512;

// Decoded weights that one thread holds at a time, in bytes: half of a small level-2 cache.
inline constexpr size_t kPanelBytes = 128 << 10;
// The least number of multiply-adds for which a task goes to another thread: about ten
// microseconds.
inline constexpr size_t kMinTaskProducts = 1 << 18;
// Thresholds for the integer kernels, which are faster: multiply-adds, and bytes of weights
inline constexpr size_t kMinPackedProducts = 1 << 21;
inline constexpr size_t kMinPackedBytes = 32 << 10;
// The items of a packed product for each thread, and the fewest rows to which an item is cut to
// reach that number.
inline constexpr size_t kPackedItemsPerThread = 16;
inline constexpr size_t kMinPackedItemRows = 64;
// Bytes of weights repacked between two progress reports.
inline constexpr size_t kPackSliceBytes = 4 << 20;
// The least number of activations for which rounding goes to another thread.
inline constexpr size_t kMinQuantizedValues = 1 << 14;
// Queries that attention computes together, counted once for each head: eight register tiles.
inline constexpr size_t kAttentionRows = 48;

}  // namespace ruvd::limits
