// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/memory/memory_gate.h"

namespace ruvd::inference {

// The tokens before and after a token that a score compares.
inline constexpr size_t kMemoryLeft = 4;
inline constexpr size_t kMemoryRight = 3;

// How a model's token memory is read. It belongs to one model and is shipped beside it as
// NAME.memory.gguf; `ruvd model memory` learns it from public text that the model has not read.
// Attention over stored tokens follows kNN-LM (arXiv 1911.00172); what is new is that the score
// also counts neighbours that match, and that a thousand entries vote. It is a plain value.
struct MemoryParameters {
  Digest model_hash{};
  int width = 0;      // values of a hidden state
  int dimension = 0;  // values of a key: a multiple of 32, at most limits::kMaxMemoryKey
  // The key of a hidden state h is unit(projection (h - mean)).
  std::vector<float> mean;        // width
  std::vector<float> projection;  // dimension x width
  // The score of an entry is the cosine of the keys over `temperature`, plus left[0] if the left
  // neighbours are equal, left[1] if the ones before these are equal too, and so on; likewise to
  // the right; plus `both` if the left and the right neighbours are equal; plus the bias of the
  // entry (MemoryRun).
  float temperature = 1;
  std::array<float, kMemoryLeft> left{};
  std::array<float, kMemoryRight> right{};
  float both = 0;
  // The bias of an entry is surprise * log(p) + timestep * t, with the probability p (at least
  // 1e-4) that the model gave to the token, and the masked share t of its window.
  float surprise = 0;
  float timestep = 0;
  // Log of the frequency of each token in public text, smoothed so that none is zero
  std::vector<float> public_log_frequency;  // vocabulary
  MemoryGate masked_gate;                   // reads masked diffusion and blocks
  MemoryGate causal_gate;                   // reads from left to right

  const MemoryGate& gate(bool causal) const { return causal ? causal_gate : masked_gate; }
  size_t vocabulary() const { return public_log_frequency.size(); }
  // Returns a bound that no score exceeds, from which sums of exp(score) count.
  float ScoreBound() const;
  // Computes the keys of hidden states (rows x width), rows x dimension. A row that is not finite
  // or has no direction gives a key of NaN.
  void ComputeKeys(std::span<const float> hidden, std::span<float> keys) const;
  float BiasOf(float probability, float t) const;

  // Returns INVALID_ARGUMENT for sizes that do not fit each other or a value that is not finite or
  // out of range.
  absl::Status Check() const;
  // Reads a file that WriteTo wrote. Returns MODEL_MISMATCH if it was made for another model than
  // `model_hash`, FILE_UNREADABLE for any other content, and the errors of reading a GGUF file.
  static absl::StatusOr<MemoryParameters> Load(const std::string& path, const Digest& model_hash);
  // Does so for the bytes of such a file; `name` is used in error messages.
  static absl::StatusOr<MemoryParameters> Parse(std::string_view bytes, const std::string& name,
                                                const Digest& model_hash);
  absl::StatusOr<std::string> Serialize() const;
  absl::Status WriteTo(const std::string& path) const;
  // The SHA-256 of everything that decides an entry: those of other parameters cannot be read.
  Digest EntryId() const;
};

}  // namespace ruvd::inference
