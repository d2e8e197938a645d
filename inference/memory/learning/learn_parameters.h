// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/memory/learning/gate_training.h"
#include "inference/memory/learning/observe_lesson.h"
#include "inference/memory/learning/projection_training.h"
#include "inference/memory/memory_parameters.h"
#include "inference/memory/memory_reader.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// How texts are cut and how much of them is read. The tokens of a document are cut into pieces of
// `piece` tokens, of which the first `given` are context.
struct MemoryLearningOptions {
  size_t piece = 128;
  size_t given = 32;
  size_t pieces_a_document = 16;  // at most, of the documents that are remembered
  // Of each kind of text: pieces that are remembered, and pieces of other documents that are read
  size_t remembered = 3125;
  size_t read = 400;
  // Parts of the memory that the gate is trained with, so that it suits small and large ones
  std::vector<double> sizes = {1.0 / 30, 1.0 / 3, 1};
  size_t general_read = 800;  // pieces of general text that are read
  // Each piece is read with so many of the memories, in turns: a gate needs many different pieces
  // more than many readings of one.
  size_t readings_of_piece = 2;
  double general_weight = 1.5;     // of general text against all kinds together
  double foreign_weight = 0.3;     // of reading with the memory of another kind
  size_t most_examples = 200'000;  // positions that a gate is fitted to, chosen at random
  ProjectionTrainingOptions projection;
  GateTrainingOptions gate;
  bool causal = true;  // whether the gate from left to right is learned, too
  uint64_t seed = 1;
  // Told what has begun; may be null.
  std::function<void(const std::string& what)> progress;
};

// A piece of text with what the model computed.
struct ObservedPiece {
  std::vector<TokenId> tokens;
  uint32_t document = 0;
  ObservedLesson masked;
  ObservedLesson causal;
};

// One kind of text, a domain for example: what is remembered, and pieces of other documents.
struct ObservedKind {
  std::vector<ObservedPiece> remembered;
  std::vector<std::vector<TokenId>> read;
};

// Cuts documents into an ObservedKind: five sixths of them, in random order, are remembered, the
// others read. The remembered pieces are read by the model, masked and from left to right. Returns
// INVALID_ARGUMENT if there are too few documents, and the errors of ObserveLesson.
absl::StatusOr<ObservedKind> ObserveKind(Transformer& transformer,
                                         std::span<const std::vector<TokenId>> documents,
                                         const MemoryLearningOptions& options);
// Cuts documents into pieces that are evenly spread over each, at most `most` in all.
std::vector<std::vector<TokenId>> SpreadPieces(std::span<const std::vector<TokenId>> documents,
                                               const MemoryLearningOptions& options, size_t most);

// Makes the runs of the first `count` remembered pieces, with the numbers of the pieces as ids.
std::vector<std::shared_ptr<const MemoryRun>> RunsOf(const MemoryParameters& parameters,
                                                     std::span<const ObservedPiece> pieces,
                                                     size_t count, bool causal);

// What the model predicts of the tokens of a piece behind the first `given`, masked once at random
// or from left to right.
struct PiecePrediction {
  std::vector<TokenId> tokens;  // the whole piece
  std::vector<TokenId> input;   // as the model read it
  std::vector<int> positions;   // that are predicted, ascending
  std::vector<double> weights;  // of the NELBO, or of the mean from left to right
  std::vector<float> hidden;    // positions x width
  std::vector<float> logits;    // positions x vocabulary
  std::vector<float> model;     // probability of the true tokens
  TokenId mask = kNoToken;
  float t = 0;
  bool causal = false;
};
// Returns the errors of Transformer::Forward.
absl::StatusOr<PiecePrediction> PredictPiece(Transformer& transformer,
                                             std::span<const TokenId> piece, size_t given,
                                             bool causal, Random& random);

// A piece as a memory reads it.
struct PieceReading {
  std::vector<MemoryReading> readings;  // without votes where the memory says nothing
  std::vector<float> memory;            // probability of the true tokens; 0 without votes
};
PieceReading ReadPrediction(MemoryReader& reader, const PiecePrediction& prediction);
// Returns the loss of a piece in nats per token, as the mixture predicts it.
double LossOf(const PiecePrediction& prediction, const PieceReading& reading);

// Learns all parameters from kinds of text that the model has not read, and from general text that
// is unlike them, in which the gate learns to close. Public frequencies are those of
// `frequent`. Returns INVALID_ARGUMENT for less than two kinds or no general text.
absl::StatusOr<MemoryParameters> LearnMemoryParameters(
    Transformer& transformer, std::span<const ObservedKind* const> kinds,
    std::span<const std::vector<TokenId>> general_pieces, std::span<const TokenId> frequent,
    const MemoryLearningOptions& options);

}  // namespace ruvd::inference
