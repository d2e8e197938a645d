// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/engine/step_together.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "inference/limits.h"

namespace ruvd::inference {
namespace {

// Runs the forwards of all `generations` in one batch and hands out the outputs.
absl::Status ForwardAll(std::span<Generation* const> generations, Transformer& transformer,
                        StepScratch* scratch) {
  scratch->inputs.clear();
  for (Generation* generation : generations) {
    const std::span<const ForwardInput> inputs = generation->NextForward();
    scratch->inputs.insert(scratch->inputs.end(), inputs.begin(), inputs.end());
  }
  const size_t count = scratch->inputs.size();
  if (scratch->outputs.size() < count) {
    scratch->outputs.resize(count);
  }
  const std::span<ForwardOutput> outputs = std::span(scratch->outputs).first(count);
  if (count > 0) {
    RETURN_IF_ERROR(transformer.Forward(scratch->inputs, outputs));
  }
  size_t next = 0;
  for (Generation* generation : generations) {
    const size_t own = generation->NextForward().size();
    generation->TakeOutputs(outputs.subspan(next, own));
    next += own;
  }
  return absl::OkStatus();
}

// A part of a chunk of logits: some rows of one generation.
struct Piece {
  Generation* generation;
  size_t rows;
};

void LogitsOfChunk(std::span<const Piece> pieces, std::span<const LogitsInput> batch,
                   Transformer& transformer, StepScratch* scratch) {
  const auto vocabulary = static_cast<size_t>(transformer.model().config().vocabulary);
  size_t rows = 0;
  for (const Piece& piece : pieces) {
    rows += piece.rows;
  }
  if (scratch->logits.size() < rows * vocabulary) {
    scratch->logits.resize(rows * vocabulary);
  }
  transformer.Logits(batch, std::span(scratch->logits).first(rows * vocabulary));
  size_t next = 0;
  for (const Piece& piece : pieces) {
    piece.generation->TakeLogits(
        std::span(scratch->logits).subspan(next * vocabulary, piece.rows * vocabulary));
    next += piece.rows;
  }
}

void LogitsAll(std::span<Generation* const> generations, Transformer& transformer,
               StepScratch* scratch) {
  const auto width = static_cast<size_t>(transformer.model().config().width);
  std::vector<Piece> pieces;
  std::vector<LogitsInput> batch;
  size_t room = limits::kLogitRows;
  const auto flush = [&] {
    if (!pieces.empty()) {
      LogitsOfChunk(pieces, batch, transformer, scratch);
    }
    pieces.clear();
    batch.clear();
    room = limits::kLogitRows;
  };
  for (Generation* generation : generations) {
    const LogitsInput wanted = generation->NextLogits();
    const size_t rows = wanted.hidden.size() / width;
    const auto together = static_cast<size_t>(generation->rows_together());
    for (size_t first = 0; first < rows;) {
      if (room < together) {
        flush();
      }
      const size_t taken = std::min(room / together * together, rows - first);
      pieces.push_back({generation, taken});
      batch.push_back({.hidden = wanted.hidden.subspan(first * width, taken * width),
                       .adapters = wanted.adapters});
      first += taken;
      room -= taken;
    }
  }
  flush();
}

}  // namespace

std::vector<ForwardRoundResult> StepTogether(std::span<Generation* const> generations,
                                             Transformer& transformer, StepScratch* scratch) {
  std::vector<ForwardRoundResult> results(generations.size(), std::optional<StepResult>());
  std::vector<Generation*> well(generations.begin(), generations.end());
  if (const absl::Status together = ForwardAll(well, transformer, scratch); !together.ok()) {
    // Run separately, so that only the generations that cause the error fail.
    well.clear();
    for (size_t i = 0; i < generations.size(); ++i) {
      const absl::Status alone = generations.size() == 1
                                     ? together
                                     : ForwardAll(generations.subspan(i, 1), transformer, scratch);
      if (alone.ok()) {
        well.push_back(generations[i]);
      } else {
        results[i] = alone;
      }
    }
  }
  LogitsAll(well, transformer, scratch);
  for (size_t i = 0; i < generations.size(); ++i) {
    if (results[i].ok()) {
      results[i] = generations[i]->EndRound();
    }
  }
  return results;
}

size_t NextForwardRows(Generation& generation) {
  size_t rows = 0;
  for (const ForwardInput& input : generation.NextForward()) {
    rows += input.tokens.size();
  }
  return rows;
}

Generation::Generation() : scratch_(std::make_unique<StepScratch>()) {}
Generation::~Generation() = default;

absl::StatusOr<StepResult> Generation::Step(Transformer& transformer) {
  RUVD_CHECK(!done());
  Generation* const self = this;
  while (true) {
    std::vector<ForwardRoundResult> results =
        StepTogether(std::span(&self, 1), transformer, scratch_.get());
    ASSIGN_OR_RETURN(std::optional<StepResult> result, std::move(results.front()));
    if (result.has_value()) {
      return *std::move(result);
    }
  }
}

}  // namespace ruvd::inference
