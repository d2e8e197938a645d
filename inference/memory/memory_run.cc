// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/memory_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/memory/limits.h"

namespace ruvd::inference {
namespace {

constexpr uint16_t kFormat = 1;  // of a serialized run

// Returns the keys of the observations.
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

std::string MemoryRun::Serialize() const {
  ByteWriter writer;
  writer.Write(kFormat)
      .Write(static_cast<uint16_t>(dimension_))
      .Write(static_cast<uint16_t>(tokens_.size()))
      .Write(static_cast<uint16_t>(biases_.size()));
  const auto write = [&writer](const auto& values) {
    writer.WriteBytes(
        {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(values.front())});
  };
  write(tokens_);
  write(biases_);
  write(keys_);
  return writer.Take();
}

absl::StatusOr<std::shared_ptr<const MemoryRun>> MemoryRun::Parse(std::string_view bytes,
                                                                  uint64_t id, int dimension) {
  ByteReader reader(AsBytes(bytes));
  const uint16_t format = reader.Read<uint16_t>().value_or(0);
  const int columns = reader.Read<uint16_t>().value_or(0);
  const size_t tokens = reader.Read<uint16_t>().value_or(0);
  const size_t entries = reader.Read<uint16_t>().value_or(0);
  const size_t key_bytes = static_cast<size_t>(dimension) / BlockValues(TensorType::kQ8_0) *
                           BlockBytes(TensorType::kQ8_0);
  const size_t wanted = tokens * sizeof(TokenId) + entries * (sizeof(float) + key_bytes);
  if (reader.failed() || format != kFormat || columns != dimension ||
      tokens > limits::kMaxMemoryRun || entries > tokens || reader.remaining() != wanted) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kFileUnreadable,
                 "a run of a token memory is damaged, or has keys of another length than {}",
                 dimension);
  }
  std::shared_ptr<MemoryRun> run(new MemoryRun());
  run->id_ = id;
  run->dimension_ = dimension;
  const auto read = [&reader](auto& values, size_t count) {
    values.resize(count);
    const auto from = reader.ReadBytes(count * sizeof(values[0]));
    std::ranges::copy(*from, reinterpret_cast<uint8_t*>(values.data()));
  };
  read(run->tokens_, tokens);
  read(run->biases_, entries);
  read(run->keys_, entries * key_bytes);
  std::vector<float> keys(entries * static_cast<size_t>(dimension));
  RUVD_CHECK(Dequantize(TensorType::kQ8_0, run->keys_, keys).ok());
  for (size_t i = 0; i < entries; ++i) {
    const std::span<const float> key =
        std::span(keys).subspan(i * static_cast<size_t>(dimension), static_cast<size_t>(dimension));
    if (!std::isfinite(run->biases_[i]) ||
        !std::ranges::all_of(key, [](float value) { return std::isfinite(value); })) {
      std::fill_n(run->keys_.begin() + static_cast<ptrdiff_t>(i * key_bytes), key_bytes, 0);
      run->biases_[i] = -std::numeric_limits<float>::infinity();
    }
  }
  return run;
}

size_t MemoryRun::bytes() const {
  return sizeof(*this) + tokens_.capacity() * sizeof(TokenId) + keys_.capacity() +
         biases_.capacity() * sizeof(float);
}

}  // namespace ruvd::inference
