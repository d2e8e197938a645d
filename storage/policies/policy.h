// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ruvd::storage {

using PolicyId = std::array<uint8_t, 16>;

// The precision that serves some layers, and its conditions.
struct QuantizationPolicy {
  uint32_t first_layer = 0;
  uint32_t last_layer = 0;  // inclusive
  std::string precision;    // "fp16", "q8", "q4_k", "q4_0"
  float activation_threshold = 0;
  uint64_t memory_budget_bytes = 0;
  float quality_weight = 0;  // weight of quality against latency, 0 to 1
  bool operator==(const QuantizationPolicy&) const = default;
};

// A FastGRNN cell (Kusupati et al. 2018): W = w1 w2 and U = u1 u2, row major, of `rank`.
struct FastGrnnWeights {
  uint32_t input_size = 0;
  uint32_t hidden_size = 0;
  uint32_t rank = 0;
  std::vector<float> w1;           // hidden x rank
  std::vector<float> w2;           // rank x input
  std::vector<float> u1;           // hidden x rank
  std::vector<float> u2;           // rank x hidden
  std::vector<float> gate_bias;    // hidden
  std::vector<float> update_bias;  // hidden
  float zeta = 0;
  float nu = 0;
  bool operator==(const FastGrnnWeights&) const = default;
};

struct RouterHeadBiases {
  std::vector<float> model;    // by model
  std::vector<float> context;  // by bucket of context size
  float temperature = 0;
  float top_p = 0;
  float confidence = 0;
  bool operator==(const RouterHeadBiases&) const = default;
};

struct RouterPolicy {
  FastGrnnWeights cell;
  RouterHeadBiases heads;
  float ewc_lambda = 0;
  float training_loss = 0;
  bool operator==(const RouterPolicy&) const = default;
};

// How strongly parameters that older tasks need are held; the Fisher diagonal is stored separately.
struct EwcPolicy {
  float lambda = 0;
  float decay = 1;     // decay of older tasks' Fisher information, 0 to 1
  uint32_t tasks = 0;  // number of tasks that it consolidates
  std::string anchor;  // name@version of the parameters that are held
  bool operator==(const EwcPolicy&) const = default;
};

// A cluster of patterns that help the same requests.
struct PatternPolicy {
  std::vector<std::array<uint8_t, 16>> pattern_ids;
  uint32_t bank = 0;
  float min_similarity = 0;  // least cosine for which the cluster applies
  std::string adapter;       // name@version
  float mean_quality = 0;    // 0 to 1
  uint32_t examples = 0;
  bool operator==(const PatternPolicy&) const = default;
};

using PolicyParameters = std::variant<QuantizationPolicy, RouterPolicy, EwcPolicy, PatternPolicy>;

// The alternatives of PolicyParameters, in their order.
enum class PolicyKind : uint8_t { kQuantization, kRouter, kEwc, kPattern };
inline constexpr size_t kPolicyKinds = 4;

// The loop that learned the policy. The numbers are stored.
enum class PolicySource : uint8_t { kInstant = 1, kBackground = 2, kDeep = 3, kFederated = 4 };

// A learned policy that decisions at run time read. Numbers are finite and texts are UTF-8.
struct Policy {
  PolicyId id{};
  PolicyParameters parameters;
  std::vector<float> embedding;  // of the contexts it applies to
  std::string embedded_by;       // id of the model package that made the embedding
  float confidence = 0;          // 0 to 1
  PolicySource source = PolicySource::kBackground;
  int64_t created_ms = 0;      // UTC, not negative
  uint32_t fisher_values = 0;  // length of its Fisher diagonal, 0 without one; set by the store

  PolicyKind kind() const { return static_cast<PolicyKind>(parameters.index()); }
  bool operator==(const Policy&) const = default;
};

}  // namespace ruvd::storage
