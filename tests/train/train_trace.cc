// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// train_trace MODEL FOLDER SEQUENCES TOKENS STEPS: trains a LoRA of rank 8 on every linear layer of
// a model on parts of its own vocabulary and writes what another program needs to do the same:
//   FOLDER/trace.json   configuration, batches (tokens, rows, targets, weights), learning rates,
//   and
//                       the loss of every step
//   FOLDER/weights.f32  the frozen matrices and norms, decoded, then the first parameters: float32
//                       in the order of trace.json's "tensors"

#include <cmath>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/model/linear.h"
#include "inference/train/adapter_changes.h"
#include "inference/train/losses.h"
#include "inference/train/model_weights.h"
#include "inference/train/run.h"

namespace ruvd::inference::train {
namespace {

constexpr int kRank = 8;
constexpr double kLearningRate = 1e-3;

// Writes tensors one after the other and records where they are.
class TensorFile {
 public:
  explicit TensorFile(const std::string& path) : file_(path, std::ios::binary) {}
  void Add(const std::string& name, std::span<const float> values) {
    list_.push_back({{"name", name}, {"values", values.size()}});
    file_.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(values.size_bytes()));
  }
  void Add(const std::string& name, const inference::Matrix& matrix) {
    std::vector<float> values;
    std::vector<float> row(static_cast<size_t>(matrix.columns));
    for (int i = 0; i < matrix.rows; ++i) {
      DecodeRow(matrix, static_cast<size_t>(i), row);
      values.insert(values.end(), row.begin(), row.end());
    }
    Add(name, values);
  }
  const nlohmann::json& list() const { return list_; }

 private:
  std::ofstream file_;
  nlohmann::json list_ = nlohmann::json::array();
};

// Makes texts with something to learn: each repeats a few tokens of its own.
std::vector<inference::TrainingExample> Texts(const inference::Model& model, int sequences,
                                              int tokens) {
  Random random(3);
  std::vector<inference::TrainingExample> texts(static_cast<size_t>(sequences));
  for (inference::TrainingExample& text : texts) {
    std::vector<inference::TokenId> words(12);
    for (inference::TokenId& word : words) {
      word = static_cast<inference::TokenId>(
          random.Below(static_cast<uint64_t>(model.config().vocabulary) / 2));
    }
    for (int i = 0; i < tokens; ++i) {
      text.completion.push_back(words[random.Below(words.size())]);
    }
  }
  return texts;
}

void WriteWeights(const inference::Model& model, const ChangeSet<float>& changes,
                  TensorFile* file) {
  file->Add("token_embd", model.token_embedding());
  file->Add("output", model.output());
  file->Add("output_norm", model.output_norm());
  for (int i = 0; i < model.config().layers; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    file->Add(prefix + "attn_norm", model.layer(i).attn_norm);
    file->Add(prefix + "ffn_norm", model.layer(i).ffn_norm);
  }
  for (const auto& entry : changes.entries()) {
    const std::string tensor = TensorOf(entry.site);
    const size_t in = entry.change.spec().in;
    file->Add(tensor, *FindMatrix(model, tensor));
    file->Add(tensor + ".a", changes.ParametersOf(entry).first(kRank * in));
  }
}

nlohmann::json ConfigurationOf(const inference::ModelConfig& config) {
  return {{"layers", config.layers},
          {"width", config.width},
          {"heads", config.heads},
          {"kv_heads", config.kv_heads},
          {"ffn", config.ffn},
          {"vocabulary", config.vocabulary},
          {"epsilon", config.rms_epsilon},
          {"rope_base", config.rope_base},
          {"rank", kRank}};
}

nlohmann::json ToJson(const std::vector<TrainingSequence>& batch) {
  nlohmann::json sequences = nlohmann::json::array();
  for (const TrainingSequence& sequence : batch) {
    nlohmann::json rows, targets, weights;
    for (const Prediction& prediction : sequence.predictions) {
      rows.push_back(prediction.row);
      targets.push_back(prediction.target);
      weights.push_back(prediction.weight);
    }
    sequences.push_back(
        {{"tokens", sequence.tokens}, {"rows", rows}, {"targets", targets}, {"weights", weights}});
  }
  return sequences;
}

absl::Status Trace(const std::string& path, const std::string& folder, int sequences, int tokens,
                   int steps) {
  ThreadParallelRunner runner(2);
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Model> model,
                   inference::Model::Load(path));
  ASSIGN_OR_RETURN(const auto weights, ModelWeights::Create(model, nullptr, runner));
  ChangeSet<float> changes(weights->shape());
  RETURN_IF_ERROR(AddLoras(*model, SitesFrom(model->config(), 0, true), kRank, false, 1, &changes));
  TensorFile file(folder + "/weights.f32");
  WriteWeights(*model, changes, &file);
  ASSIGN_OR_RETURN(const auto objective, MakeObjective(*model, Texts(*model, sequences, tokens),
                                                       {.batch = sequences, .seed = 2}));
  const RunOptions options{.steps = steps, .learning_rate = kLearningRate};
  TrainingRun run({.weights = weights.get(),
                   .changes = &changes,
                   .objective = objective.get(),
                   .held_out = {},
                   .runner = &runner},
                  options);
  nlohmann::json trace{{"config", ConfigurationOf(model->config())},
                       {"tensors", file.list()},
                       {"beta1", options.optimizer.beta1},
                       {"beta2", options.optimizer.beta2},
                       {"clip_norm", options.clip_norm}};
  for (uint64_t step = 0; step < static_cast<uint64_t>(steps); ++step) {
    trace["batches"].push_back(ToJson(objective->Draw(step)));
    trace["learning_rates"].push_back(
        kLearningRate * LearningRateShare(options.schedule, step, static_cast<uint64_t>(steps)));
    RETURN_IF_ERROR(run.Advance([&] { return run.step() == step + 1; }));
    trace["losses"].push_back(run.loss());
    trace["gradient_norms"].push_back(run.gradient_norm());
  }
  std::ofstream(folder + "/trace.json") << trace.dump();
  return absl::OkStatus();
}

}  // namespace
}  // namespace ruvd::inference::train

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: train_trace MODEL FOLDER SEQUENCES TOKENS STEPS\n";
    return 2;
  }
  const absl::Status status = ruvd::inference::train::Trace(argv[1], argv[2], std::stoi(argv[3]),
                                                            std::stoi(argv[4]), std::stoi(argv[5]));
  if (!status.ok()) {
    std::cerr << ruvd::MessageOf(status) << "\n";
    return 1;
  }
  return 0;
}
