// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/memory_scan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "inference/kernels/kernel_table.h"
#include "inference/memory/limits.h"

namespace ruvd::inference {
namespace {

using Bonuses = std::vector<std::pair<uint32_t, float>>;

// Keeps the candidates of at least `least` and of at least the score of the kMaxMemoryVotes-th best
// one; the set does not depend on their order. Returns the score that it takes from now on.
float Prune(float least, std::vector<float>* scores, std::vector<TokenId>* tokens,
            std::vector<float>* scratch) {
  if (scores->size() > limits::kMaxMemoryVotes) {
    *scratch = *scores;
    const auto last = scratch->begin() + static_cast<ptrdiff_t>(limits::kMaxMemoryVotes - 1);
    std::ranges::nth_element(*scratch, last, std::greater<>());
    least = std::max(least, *last);
  }
  size_t kept = 0;
  for (size_t i = 0; i < scores->size(); ++i) {
    (*scores)[kept] = (*scores)[i];
    (*tokens)[kept] = (*tokens)[i];
    kept += (*scores)[i] >= least ? 1 : 0;
  }
  scores->resize(kept);
  tokens->resize(kept);
  return least;
}

}  // namespace

MemoryScan::MemoryScan(std::shared_ptr<const MemoryParameters> parameters,
                       std::shared_ptr<const TokenMemory> memory, ParallelRunner& runner)
    : parameters_(std::move(parameters)),
      memory_(std::move(memory)),
      bound_(parameters_->ScoreBound()),
      runner_(runner) {
  for (const auto& segment : memory_->segments()) {
    const std::span<const MemorySegment::Stretch> runs = segment->stretches();
    size_t places = 0;
    for (size_t i = 0; i < runs.size(); ++i) {
      if (i == 0 || places + runs[i].places > limits::kMemoryTilePlaces) {
        tiles_.push_back({.segment = segment.get(), .first = i, .number = runs_});
        places = 0;
      }
      tiles_.back().last = i + 1;
      places += runs[i].places;
      tile_places_ = std::max(tile_places_, places);
      ++runs_;
    }
  }
}

void MemoryScan::FindBonuses(const MemorySegment& segment, size_t begin,
                             const MemoryNeighbours& near, Partial* row) const {
  row->left_bonuses.clear();
  row->right_bonuses.clear();
  if (near.left[0] != kNoToken) {
    for (const uint32_t place : segment.PlacesOfToken(near.left[0])) {
      const auto entry = static_cast<ptrdiff_t>(place) + 1;
      float bonus = parameters_->left[0];
      for (size_t i = 1; i < kMemoryLeft && near.left[i] != kNoToken &&
                         segment.token(entry - 1 - static_cast<ptrdiff_t>(i)) == near.left[i];
           ++i) {
        bonus += parameters_->left[i];
      }
      if (near.right[0] != kNoToken && segment.token(entry + 1) == near.right[0]) {
        bonus += parameters_->both;
      }
      row->left_bonuses.emplace_back(static_cast<uint32_t>(entry), bonus);
    }
  }
  if (near.right[0] != kNoToken) {
    for (const uint32_t place : segment.PlacesOfToken(near.right[0])) {
      const auto entry = static_cast<ptrdiff_t>(place) - 1;
      if (entry < 0) {
        continue;
      }
      float bonus = parameters_->right[0];
      for (size_t i = 1; i < kMemoryRight && near.right[i] != kNoToken &&
                         segment.token(entry + 1 + static_cast<ptrdiff_t>(i)) == near.right[i];
           ++i) {
        bonus += parameters_->right[i];
      }
      row->right_bonuses.emplace_back(static_cast<uint32_t>(entry), bonus);
    }
  }
  const auto first_from = [begin](const Bonuses& bonuses) {
    const auto found = std::ranges::lower_bound(bonuses, begin, {}, &Bonuses::value_type::first);
    return static_cast<size_t>(found - bonuses.begin());
  };
  row->next_left = first_from(row->left_bonuses);
  row->next_right = first_from(row->right_bonuses);
}

// Scans one run and returns its mass. `scores` are the cosines over the temperature, by place from
// the run's begin on.
float MemoryScan::ScanRun(const MemorySegment& segment, const MemorySegment::Stretch& run,
                          float* scores, Partial* row, Scratch* scratch) const {
  const KernelTable& kernels = Kernels();
  const size_t end = run.begin + run.places;
  const float best = kernels.add_biases(segment.biases().data() + run.begin, run.places, scores);
  row->best_cosine = std::max(row->best_cosine, best * parameters_->temperature);
  const auto apply = [&](const Bonuses& bonuses, size_t* next) {
    for (; *next < bonuses.size() && bonuses[*next].first < end; ++*next) {
      scores[bonuses[*next].first - run.begin] += bonuses[*next].second;
    }
  };
  apply(row->left_bonuses, &row->next_left);
  apply(row->right_bonuses, &row->next_right);
  scratch->places.resize(std::max<size_t>(scratch->places.size(), run.places));
  const ScoreSums sums = kernels.sum_scores(
      scores, run.places, bound_, std::max(row->least_score, row->best_score - kMemoryVoteRange),
      scratch->places.data());
  row->best_score = std::max(row->best_score, sums.largest);
  for (const uint32_t place : std::span(scratch->places).first(sums.found)) {
    const TokenId token =
        segment.token(static_cast<ptrdiff_t>(run.begin) + static_cast<ptrdiff_t>(place));
    if (token < parameters_->vocabulary()) {
      row->scores.push_back(scores[place]);
      row->tokens.push_back(token);
    }
  }
  if (row->scores.size() > row->prune_above) {
    row->least_score = Prune(std::max(row->least_score, row->best_score - kMemoryVoteRange),
                             &row->scores, &row->tokens, &scratch->values);
    // Twice as many as remain, so that many equal scores do not make every run prune.
    row->prune_above = 2 * std::max(row->scores.size(), limits::kMaxMemoryVotes);
  }
  return sums.mass;
}

void MemoryScan::ScanTile(const Task& task, const Stretches& tile, Scratch* scratch) {
  const std::span<const MemorySegment::Stretch> runs =
      tile.segment->stretches().subspan(tile.first, tile.last - tile.first);
  const size_t begin = runs.front().begin;
  const size_t places = runs.back().begin + runs.back().places - begin;
  // One cache line more, or the scores of all rows would compete for the same lines of a cache.
  const size_t stride = tile_places_ + kGroupOutputs;
  // The product counts its rows from the first one of all.
  scratch->scores.resize(std::max(scratch->scores.size(), (task.first_row + task.rows) * stride));
  Kernels().multiply_packed({.w = tile.segment->Keys(begin, places),
                             .first_group = 0,
                             .groups = places / kGroupOutputs,
                             .x = quantized_.view(),
                             .first_row = task.first_row,
                             .rows = task.rows,
                             .y = scratch->scores.data(),
                             .y_stride = stride,
                             .scratch = scratch->packed.data()});
  for (size_t r = 0; r < task.rows; ++r) {
    const size_t row = task.first_row + r;
    if (!rows_[row].sound) {
      continue;
    }
    float* const masses = masses_.data() + row * runs_ + tile.number;
    for (size_t i = 0; i < runs.size(); ++i) {
      masses[i] = ScanRun(*tile.segment, runs[i],
                          scratch->scores.data() + row * stride + (runs[i].begin - begin),
                          &task.partials[r], scratch);
    }
  }
}

void MemoryScan::Run(std::span<const MemoryNeighbours> near, const Task& task, Scratch* scratch) {
  for (Partial& row : task.partials) {
    row.best_score = std::numeric_limits<float>::lowest();
    row.best_cosine = -1;
    row.least_score = std::numeric_limits<float>::lowest();
    row.prune_above = 2 * limits::kMaxMemoryVotes;
    row.scores.clear();
    row.tokens.clear();
  }
  for (size_t i = 0; i < task.tiles.size(); ++i) {
    const Stretches& tile = task.tiles[i];
    if (i == 0 || task.tiles[i - 1].segment != tile.segment) {
      for (size_t r = 0; r < task.rows; ++r) {
        FindBonuses(*tile.segment, tile.segment->stretches()[tile.first].begin,
                    near[task.first_row + r], &task.partials[r]);
      }
    }
    ScanTile(task, tile, scratch);
  }
}

void MemoryScan::ComputeQueries(size_t rows, std::span<const float> hidden) {
  const auto dimension = static_cast<size_t>(parameters_->dimension);
  keys_.resize(rows * dimension);
  parameters_->ComputeKeys(hidden, keys_);
  for (size_t r = 0; r < rows; ++r) {
    const std::span<float> key = std::span(keys_).subspan(r * dimension, dimension);
    rows_[r].sound = std::isfinite(key.front());
    for (float& value : key) {
      value = rows_[r].sound ? value / parameters_->temperature : 0.0F;
    }
  }
  Quantize(runner_, keys_, dimension, &quantized_);
}

// Divides the work into as many tasks as there are threads, or more.
std::vector<MemoryScan::Task> MemoryScan::Divide(size_t rows) {
  const size_t blocks = (rows + limits::kMemoryScanRows - 1) / limits::kMemoryScanRows;
  const auto threads = static_cast<size_t>(runner_.threads());
  const size_t parts = std::min((threads + blocks - 1) / blocks, tiles_.size());
  partials_.resize(std::max(partials_.size(), rows * parts));
  std::vector<Task> tasks;
  for (size_t part = 0; part < parts; ++part) {
    const size_t first = part * tiles_.size() / parts;
    const size_t last = (part + 1) * tiles_.size() / parts;
    for (size_t row = 0; row < rows; row += limits::kMemoryScanRows) {
      const size_t count = std::min(limits::kMemoryScanRows, rows - row);
      tasks.push_back({.first_row = row,
                       .rows = count,
                       .tiles = std::span(tiles_).subspan(first, last - first),
                       .partials = std::span(partials_).subspan(part * rows + row, count)});
    }
  }
  return tasks;
}

// Joins the parts of each row.
void MemoryScan::Collect(size_t rows, size_t parts) {
  for (size_t r = 0; r < rows; ++r) {
    ScannedRow& row = rows_[r];
    row.best_score = std::numeric_limits<float>::lowest();
    row.best_cosine = -1;
    row.mass = 0;
    row.scores.clear();
    row.tokens.clear();
    if (!row.sound) {
      continue;
    }
    for (const float mass : std::span(masses_).subspan(r * runs_, runs_)) {
      row.mass += static_cast<double>(mass);
    }
    for (size_t part = 0; part < parts; ++part) {
      const Partial& own = partials_[part * rows + r];
      row.best_score = std::max(row.best_score, own.best_score);
      row.best_cosine = std::max(row.best_cosine, own.best_cosine);
      row.scores.insert(row.scores.end(), own.scores.begin(), own.scores.end());
      row.tokens.insert(row.tokens.end(), own.tokens.begin(), own.tokens.end());
    }
    Prune(row.best_score - kMemoryVoteRange, &row.scores, &row.tokens, &values_);
  }
}

std::span<ScannedRow> MemoryScan::Scan(std::span<const MemoryNeighbours> near,
                                       std::span<const float> hidden) {
  rows_.resize(std::max(rows_.size(), near.size()));
  const std::span<ScannedRow> rows = std::span(rows_).first(near.size());
  if (near.empty() || tiles_.empty()) {
    std::ranges::fill(rows, ScannedRow());
    return rows;
  }
  ComputeQueries(near.size(), hidden);
  masses_.resize(std::max(masses_.size(), near.size() * runs_));
  const std::vector<Task> tasks = Divide(near.size());
  while (scratch_.size() < tasks.size()) {
    scratch_.push_back({.packed = AlignedBuffer(kPackedScratchBytes)});
  }
  runner_.For(tasks.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      Run(near, tasks[i], &scratch_[i]);
    }
  });
  const size_t blocks = (near.size() + limits::kMemoryScanRows - 1) / limits::kMemoryScanRows;
  Collect(near.size(), tasks.size() / blocks);
  return rows;
}

}  // namespace ruvd::inference
