// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// Limits of a model's configuration, checked before anything is allocated by it, and the sizes that
// divide the work. The largest open models stay well below; a larger number is a broken file.
namespace ruvd::limits {

inline constexpr uint64_t kMaxLayers = 512;
inline constexpr uint64_t kMaxWidth = 1 << 16;
inline constexpr uint64_t kMaxFfn = 1 << 18;
inline constexpr uint64_t kMaxHeads = 1024;
inline constexpr uint64_t kMaxHeadSize = 1024;
inline constexpr uint64_t kMaxVocabulary = 1 << 20;
inline constexpr uint64_t kMaxContext = 1 << 20;

// Sum of the ranks applied to one matrix by all adapters of a mix: more would cost more than the
// matrix itself in the models we serve.
inline constexpr int kMaxStackedRank = 1024;
// Mixes kept ready between forward passes beyond those of the current one: as many as the requests
// of a batch and their timestep banks, and no more memory than a small node can spare.
inline constexpr size_t kMaxPreparedMixes = 16;
inline constexpr size_t kMaxPreparedMixBytes = 32 << 20;

// Tokens of a text that its embedding is made of, the last ones: one forward of 512 tokens of a 7B
// model takes 130 MB of activations and, like a batch of completions, does not keep others waiting.
inline constexpr size_t kEmbeddedTokens = 512;
// Memory for the activations of so many tokens stays with a transformer; what a longer forward took
// beyond goes back at the next shorter one.
inline constexpr size_t kKeptRows = 512;

// Decoded weights held at a time by one thread: half of a small L2 cache.
inline constexpr size_t kPanelBytes = 128 << 10;
// Multiply-adds worth handing to another thread: some ten microseconds.
inline constexpr size_t kMinTaskProducts = 1 << 18;
// The same for the integer kernels, which are faster, and for the weights they stream.
inline constexpr size_t kMinPackedProducts = 1 << 21;
inline constexpr size_t kMinPackedBytes = 32 << 10;
// Items of a packed product for each thread, and the fewest rows an item is cut to for their sake.
inline constexpr size_t kPackedItemsPerThread = 16;
inline constexpr size_t kLeastPackedItemRows = 64;
// Weights repacked between two reports of progress.
inline constexpr size_t kPackSliceBytes = 4 << 20;
// Activations worth handing to another thread for rounding.
inline constexpr size_t kMinQuantizedValues = 1 << 14;
// Queries, counted once for each head, that attention computes together: eight register tiles.
inline constexpr size_t kAttentionRows = 48;

}  // namespace ruvd::limits
