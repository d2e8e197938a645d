// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/memory_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/memory/limits.h"

namespace ruvd::inference {
namespace {

// Returns the keys of the observations; rows of NaN for states of another width.
std::vector<float> KeysOf(const MemoryParameters& parameters,
                          std::span<const MemoryObservation> observations) {
  const auto width = static_cast<size_t>(parameters.width);
  std::vector<float> hidden;
  hidden.reserve(observations.size() * width);
  for (const MemoryObservation& one : observations) {
    RUVD_CHECK(one.hidden.size() == width);
    hidden.insert(hidden.end(), one.hidden.begin(), one.hidden.end());
  }
  std::vector<float> keys(observations.size() * static_cast<size_t>(parameters.dimension));
  parameters.ComputeKeys(hidden, keys);
  return keys;
}

}  // namespace

std::shared_ptr<const MemoryRun> MemoryRun::Make(const MemoryParameters& parameters, uint64_t id,
                                                 std::span<const TokenId> tokens, size_t context,
                                                 std::span<const MemoryObservation> observations) {
  RUVD_CHECK(tokens.size() <= limits::kMaxMemoryRun &&
             tokens.size() == context + observations.size());
  std::shared_ptr<MemoryRun> run(new MemoryRun());
  run->id_ = id;
  run->dimension_ = parameters.dimension;
  run->tokens_.assign(tokens.begin(), tokens.end());
  std::vector<float> keys = KeysOf(parameters, observations);
  const auto dimension = static_cast<size_t>(parameters.dimension);
  for (size_t i = 0; i < observations.size(); ++i) {
    const std::span<float> key = std::span(keys).subspan(i * dimension, dimension);
    const float bias = parameters.BiasOf(observations[i].probability, observations[i].t);
    const bool sound = std::isfinite(key.front()) && std::isfinite(observations[i].probability) &&
                       std::isfinite(bias);
    if (!sound) {
      std::ranges::fill(key, 0.0F);
    }
    run->biases_.push_back(sound ? bias : -std::numeric_limits<float>::infinity());
  }
  run->keys_.resize(keys.size() / BlockValues(TensorType::kQ8_0) * BlockBytes(TensorType::kQ8_0));
  RUVD_CHECK(QuantizeInto(TensorType::kQ8_0, keys, run->keys_).ok());
  return run;
}

size_t MemoryRun::bytes() const {
  return sizeof(*this) + tokens_.capacity() * sizeof(TokenId) + keys_.capacity() +
         biases_.capacity() * sizeof(float);
}

}  // namespace ruvd::inference
