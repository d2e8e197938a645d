// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/learning/learn_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/evaluate/nelbo.h"
#include "inference/kernels/kernel_table.h"
#include "inference/limits.h"

namespace ruvd::inference {
namespace {

constexpr size_t kReadShare = 6;  // one in so many documents is read, not remembered
constexpr size_t kReadPiecesOfDocument = 8;

void Say(const MemoryLearningOptions& options, const std::string& what) {
  if (options.progress) {
    options.progress(what);
  }
}

void PredictMasked(std::span<const TokenId> piece, size_t given, TokenId mask, Random& random,
                   PiecePrediction* prediction) {
  const std::vector<std::vector<size_t>> spans = {{piece.size() - given}};
  const Corruption corruption = DrawCorruptions(spans, random).front();
  prediction->input.assign(piece.begin(), piece.end());
  prediction->mask = mask;
  for (const Corruption::Position& masked : corruption.masked) {
    const size_t position = given + masked.index;
    prediction->input[position] = mask;
    prediction->positions.push_back(static_cast<int>(position));
    prediction->weights.push_back(masked.weight / static_cast<double>(corruption.length));
    prediction->t = static_cast<float>(masked.t);
  }
}

void PredictNext(std::span<const TokenId> piece, size_t given, PiecePrediction* prediction) {
  prediction->input.assign(piece.begin(), piece.end() - 1);
  for (size_t position = given; position < piece.size(); ++position) {
    prediction->positions.push_back(static_cast<int>(position));
    prediction->weights.push_back(1.0 / static_cast<double>(piece.size() - given));
  }
}

// A memory, and the weight of the examples that it gives.
struct WeightedMemory {
  std::shared_ptr<const TokenMemory> memory;
  double weight = 0;
};

// Reads pieces with some memories in turns and adds examples for a gate, of the weights in all.
absl::Status AddExamples(Transformer& transformer,
                         const std::shared_ptr<const MemoryParameters>& parameters,
                         std::span<const WeightedMemory> memories,
                         std::span<const std::vector<TokenId>> pieces, bool causal,
                         const MemoryLearningOptions& options, std::vector<GateExample>* examples) {
  std::vector<MemoryReader> readers;
  for (const WeightedMemory& one : memories) {
    readers.emplace_back(parameters, one.memory);
  }
  Random random(options.seed);
  const size_t each = std::min(options.readings_of_piece, memories.size());
  const double all =
      static_cast<double>(pieces.size() * each) / static_cast<double>(memories.size());
  for (size_t p = 0; p < pieces.size(); ++p) {
    ASSIGN_OR_RETURN(const PiecePrediction prediction,
                     PredictPiece(transformer, pieces[p], options.given, causal, random));
    std::vector<PieceReading> readings(each);
    const auto memory_of = [&](size_t reading) { return (p * each + reading) % memories.size(); };
    transformer.runner().For(each, 1, [&](size_t begin, size_t end) {
      for (size_t r = begin; r < end; ++r) {
        readings[r] = ReadPrediction(readers[memory_of(r)], prediction);
      }
    });
    for (size_t r = 0; r < each; ++r) {
      const PieceReading& reading = readings[r];
      const double weight = memories[memory_of(r)].weight / all;
      for (size_t i = 0; i < reading.readings.size(); ++i) {
        if (!reading.readings[i].votes.empty()) {
          examples->push_back({.features = reading.readings[i].features,
                               .model = prediction.model[i],
                               .memory = reading.memory[i],
                               .weight = static_cast<float>(prediction.weights[i] * weight)});
        }
      }
    }
  }
  return absl::OkStatus();
}

// Collects what a gate is trained on: each kind with its own memory in several sizes, general text
// with the same memories, and each kind with the memory of the next one.
absl::StatusOr<MemoryGate> LearnGate(Transformer& transformer, const MemoryParameters& learned,
                                     std::span<const ObservedKind* const> kinds,
                                     std::span<const std::vector<TokenId>> general_pieces,
                                     bool causal, const MemoryLearningOptions& options) {
  const auto parameters = std::make_shared<MemoryParameters>(learned);
  const auto memory_of = [&](const ObservedKind& kind, double size) {
    const auto count =
        static_cast<size_t>(std::ceil(size * static_cast<double>(kind.remembered.size())));
    return std::make_shared<TokenMemory>(RunsOf(learned, kind.remembered, count, causal));
  };
  const auto shares = static_cast<double>(options.sizes.size());
  std::vector<GateExample> examples;
  std::vector<WeightedMemory> all;
  for (size_t i = 0; i < kinds.size(); ++i) {
    Say(options, fmt::format("gate {}: reading kind {} of {}",
                             causal ? "from left to right" : "masked", i + 1, kinds.size()));
    std::vector<WeightedMemory> memories;
    for (const double size : options.sizes) {
      memories.push_back({.memory = memory_of(*kinds[i], size), .weight = 1 / shares});
      all.push_back({.memory = memories.back().memory, .weight = options.general_weight / shares});
    }
    memories.push_back({.memory = memory_of(*kinds[(i + 1) % kinds.size()],
                                            options.sizes[options.sizes.size() / 2]),
                        .weight = options.foreign_weight});
    RETURN_IF_ERROR(
        AddExamples(transformer, parameters, memories, kinds[i]->read, causal, options, &examples));
  }
  Say(options, "gate: reading general text");
  RETURN_IF_ERROR(
      AddExamples(transformer, parameters, all, general_pieces, causal, options, &examples));
  // More of them would make no better gate.
  Random random(options.seed);
  random.Shuffle(std::span(examples));
  examples.resize(std::min(examples.size(), options.most_examples));
  Say(options, fmt::format("gate: fitting {} positions", examples.size()));
  return TrainGate(transformer.runner(), examples, options.gate);
}

// Rounds the numbers that files hold in 16 bits, so that they mean the same before and after.
absl::StatusOr<MemoryParameters> RoundAsStored(const MemoryParameters& parameters) {
  ASSIGN_OR_RETURN(const std::string bytes, parameters.Serialize());
  return MemoryParameters::Parse(bytes, "the learned parameters", parameters.model_hash);
}

}  // namespace

std::vector<std::vector<TokenId>> SpreadPieces(std::span<const std::vector<TokenId>> documents,
                                               const MemoryLearningOptions& options, size_t most) {
  std::vector<std::vector<TokenId>> pieces;
  const size_t each = documents.empty() ? 0 : most / documents.size() + 1;
  for (const std::vector<TokenId>& document : documents) {
    const size_t all = document.size() / options.piece;
    const size_t taken = std::min(all, each);
    for (size_t i = 0; i < taken && pieces.size() < most; ++i) {
      const size_t place = taken == 1 ? 0 : i * (all - 1) / (taken - 1);
      const auto begin = document.begin() + static_cast<ptrdiff_t>(place * options.piece);
      pieces.emplace_back(begin, begin + static_cast<ptrdiff_t>(options.piece));
    }
  }
  return pieces;
}

absl::StatusOr<ObservedKind> ObserveKind(Transformer& transformer,
                                         std::span<const std::vector<TokenId>> documents,
                                         const MemoryLearningOptions& options) {
  if (documents.size() < kReadShare) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} documents are too few to learn how a memory is read; give at least {} of each "
                 "kind of text",
                 documents.size(), kReadShare);
  }
  Random random(options.seed);
  std::vector<uint32_t> order(documents.size());
  std::iota(order.begin(), order.end(), 0U);
  random.Shuffle(std::span(order));
  const size_t held = std::max(documents.size() / kReadShare, size_t{1});
  ObservedKind kind;
  for (size_t i = 0; i < order.size(); ++i) {
    const std::vector<TokenId>& document = documents[order[i]];
    const bool remembered = i + held < order.size();
    const size_t each = remembered ? options.pieces_a_document : kReadPiecesOfDocument;
    for (size_t k = 0; k < std::min(document.size() / options.piece, each); ++k) {
      const auto begin = document.begin() + static_cast<ptrdiff_t>(k * options.piece);
      std::vector<TokenId> piece(begin, begin + static_cast<ptrdiff_t>(options.piece));
      if (remembered && kind.remembered.size() < options.remembered) {
        kind.remembered.push_back({.tokens = std::move(piece), .document = order[i]});
      } else if (!remembered && kind.read.size() < options.read) {
        kind.read.push_back(std::move(piece));
      }
    }
  }
  for (ObservedPiece& piece : kind.remembered) {
    for (const bool causal : {false, true}) {
      ASSIGN_OR_RETURN((causal ? piece.causal : piece.masked),
                       ObserveLesson(transformer, piece.tokens, options.given, causal, random));
    }
  }
  return kind;
}

std::vector<std::shared_ptr<const MemoryRun>> RunsOf(const MemoryParameters& parameters,
                                                     std::span<const ObservedPiece> pieces,
                                                     size_t count, bool causal) {
  std::vector<std::shared_ptr<const MemoryRun>> runs;
  for (size_t i = 0; i < std::min(count, pieces.size()); ++i) {
    runs.push_back(
        RunOf(parameters, i, pieces[i].tokens, causal ? pieces[i].causal : pieces[i].masked));
  }
  return runs;
}

absl::StatusOr<PiecePrediction> PredictPiece(Transformer& transformer,
                                             std::span<const TokenId> piece, size_t given,
                                             bool causal, Random& random) {
  const Model& model = transformer.model();
  PiecePrediction prediction{.tokens = {piece.begin(), piece.end()}, .causal = causal};
  if (causal) {
    PredictNext(piece, given, &prediction);
  } else {
    PredictMasked(piece, given, model.tokenizer().mask_id().value_or(kNoToken), random,
                  &prediction);
  }
  const bool shift = causal || model.config().shift_logits;
  std::vector<int> rows;
  rows.reserve(prediction.positions.size());
  for (const int position : prediction.positions) {
    rows.push_back(position - (shift ? 1 : 0));
  }
  ForwardOutput output;
  const ForwardInput input{
      .tokens = prediction.input,
      .attention = {.kind = causal ? Attention::Kind::kCausal : Attention::Kind::kBidirectional},
      .rows = rows};
  RETURN_IF_ERROR(transformer.Forward(input, &output));
  prediction.hidden = std::move(output.hidden);
  const auto vocabulary = static_cast<size_t>(model.config().vocabulary);
  prediction.logits.resize(rows.size() * vocabulary);
  transformer.Logits(prediction.hidden, nullptr, prediction.logits);
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::span<const float> row =
        std::span<const float>(prediction.logits).subspan(i * vocabulary, vocabulary);
    const float largest = Kernels().max(row.data(), row.size());
    const float mass = Kernels().sum_exp(row.data(), row.size(), largest);
    const TokenId target = piece[static_cast<size_t>(prediction.positions[i])];
    prediction.model.push_back(std::exp(row[target] - largest) / mass);
  }
  return prediction;
}

PieceReading ReadPrediction(MemoryReader& reader, const PiecePrediction& prediction) {
  const MemoryWindow window{.tokens = prediction.input,
                            .mask = prediction.mask,
                            .causal = prediction.causal,
                            .t = prediction.t,
                            .masked = prediction.positions.size()};
  PieceReading result{
      .readings = reader.Read(window, prediction.positions, prediction.hidden, prediction.logits)};
  for (size_t i = 0; i < result.readings.size(); ++i) {
    const TokenId target = prediction.tokens[static_cast<size_t>(prediction.positions[i])];
    float probability = 0;
    for (const auto& [token, vote] : result.readings[i].votes) {
      probability = token == target ? vote : probability;
    }
    result.memory.push_back(probability);
  }
  return result;
}

double LossOf(const PiecePrediction& prediction, const PieceReading& reading) {
  constexpr double kLeast = 1e-30;
  double loss = 0;
  for (size_t i = 0; i < prediction.positions.size(); ++i) {
    const MemoryReading& one = reading.readings[i];
    const double share = one.votes.empty() ? 0.0 : static_cast<double>(one.share);
    const double mixture = (1 - share) * static_cast<double>(prediction.model[i]) +
                           share * static_cast<double>(reading.memory[i]);
    loss -= prediction.weights[i] * std::log(std::max(mixture, kLeast));
  }
  return loss;
}

absl::StatusOr<MemoryParameters> LearnMemoryParameters(
    Transformer& transformer, std::span<const ObservedKind* const> kinds,
    std::span<const std::vector<TokenId>> general_pieces, std::span<const TokenId> frequent,
    const MemoryLearningOptions& options) {
  if (kinds.size() < 2 || general_pieces.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a memory is learned to be read from two or more kinds of text and from general "
                 "text, but there are {} kinds and {} pieces of general text",
                 kinds.size(), general_pieces.size());
  }
  std::vector<ProjectionExamples> examples;
  for (const ObservedKind* kind : kinds) {
    ProjectionExamples& own = examples.emplace_back();
    own.width = static_cast<size_t>(transformer.model().config().width);
    for (const ObservedPiece& piece : kind->remembered) {
      own.Add(piece.tokens, piece.masked, piece.document);
    }
  }
  Say(options, "learning the keys");
  ASSIGN_OR_RETURN(MemoryParameters parameters,
                   TrainProjection(transformer.runner(), examples, options.projection));
  examples.clear();
  parameters.model_hash = transformer.model().hash();
  const auto vocabulary = static_cast<size_t>(transformer.model().config().vocabulary);
  std::vector<double> counts(vocabulary, 1.0);
  for (const TokenId token : frequent) {
    counts[token] += 1;
  }
  const double all = static_cast<double>(frequent.size() + vocabulary);
  for (const double count : counts) {
    parameters.public_log_frequency.push_back(static_cast<float>(std::log(count / all)));
  }
  ASSIGN_OR_RETURN(parameters, RoundAsStored(parameters));
  for (const bool causal : {false, true}) {
    if (causal && !options.causal) {
      continue;
    }
    MemoryGate& gate = causal ? parameters.causal_gate : parameters.masked_gate;
    ASSIGN_OR_RETURN(gate,
                     LearnGate(transformer, parameters, kinds, general_pieces, causal, options));
  }
  return parameters;
}

}  // namespace ruvd::inference
