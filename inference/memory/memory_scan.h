// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "inference/kernels/aligned_buffer.h"
#include "inference/memory/memory_parameters.h"
#include "inference/memory/token_memory.h"
#include "inference/model/linear.h"
#include "inference/tokenizer/tokenizer.h"

namespace ruvd::inference {

// Entries whose weight is less than e^-9 of the largest one have no vote.
inline constexpr float kMemoryVoteRange = 9;

// The tokens beside an open position, nearest first; kNoToken where unknown
struct MemoryNeighbours {
  std::array<TokenId, kMemoryLeft> left{};
  std::array<TokenId, kMemoryRight> right{};
};

// What the entries of a memory score for one open position.
struct ScannedRow {
  bool sound = false;     // false: the state is not finite, and the rest has no meaning
  float best_score = 0;   // of all entries
  float best_cosine = 0;  // likewise
  double mass = 0;        // sum over all entries of exp(score - MemoryParameters::ScoreBound)
  // The entries that vote, in the order of the memory: their scores and tokens
  std::vector<float> scores;
  std::vector<TokenId> tokens;
};

// Computes the scores of all entries for some open positions. Rows, and for few rows also stretches
// of the memory, are divided among the threads of a runner; no bit depends on that division, nor on
// the segments of the memory. It keeps scratch memory. Not thread-safe.
class MemoryScan {
 public:
  // The contract is that of MemoryReader.
  MemoryScan(std::shared_ptr<const MemoryParameters> parameters,
             std::shared_ptr<const TokenMemory> memory, ParallelRunner& runner);

  // `hidden` are the final states (rows x width). The result, one item for each row, is valid until
  // the next call; callers may change it.
  std::span<ScannedRow> Scan(std::span<const MemoryNeighbours> near, std::span<const float> hidden);

 private:
  // One row in one part of the memory, while it is scanned
  struct Partial {
    float best_score = 0;
    float best_cosine = 0;
    float least_score = 0;   // scores below have no vote
    size_t prune_above = 0;  // so many candidates
    std::vector<float> scores;
    std::vector<TokenId> tokens;
    std::vector<std::pair<uint32_t, float>> left_bonuses;   // places of a segment, ascending
    std::vector<std::pair<uint32_t, float>> right_bonuses;  // likewise
    size_t next_left = 0;
    size_t next_right = 0;
  };
  // Runs [first, last) of a segment; the number of its first run among those of the memory
  struct Stretches {
    const MemorySegment* segment = nullptr;
    size_t first = 0;
    size_t last = 0;
    size_t number = 0;
  };
  // What one thread works on: some rows and a part of the memory
  struct Task {
    size_t first_row = 0;
    size_t rows = 0;
    std::span<const Stretches> tiles;
    std::span<Partial> partials;  // one for each row
  };
  // Memory of one task
  struct Scratch {
    AlignedBuffer packed;
    std::vector<float> scores;
    std::vector<float> values;
    std::vector<uint32_t> places;
  };

  void ComputeQueries(size_t rows, std::span<const float> hidden);
  std::vector<Task> Divide(size_t rows);
  void Run(std::span<const MemoryNeighbours> near, const Task& task, Scratch* scratch);
  void FindBonuses(const MemorySegment& segment, size_t begin, const MemoryNeighbours& near,
                   Partial* row) const;
  void ScanTile(const Task& task, const Stretches& tile, Scratch* scratch);
  float ScanRun(const MemorySegment& segment, const MemorySegment::Stretch& run, float* scores,
                Partial* row, Scratch* scratch) const;
  void Collect(size_t rows, size_t parts);

  const std::shared_ptr<const MemoryParameters> parameters_;
  const std::shared_ptr<const TokenMemory> memory_;
  const float bound_;
  ParallelRunner& runner_;
  std::vector<Stretches> tiles_;  // all runs, in order
  size_t runs_ = 0;
  size_t tile_places_ = 0;  // of the largest tile
  std::vector<ScannedRow> rows_;
  std::vector<Partial> partials_;  // part by part
  std::vector<float> masses_;      // rows x runs
  std::vector<float> keys_;
  QuantizedRows quantized_;
  std::vector<Scratch> scratch_;
  std::vector<float> values_;
};

}  // namespace ruvd::inference
