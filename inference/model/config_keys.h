// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/gguf/reader.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// Return MODEL_CORRUPT and MODEL_UNSUPPORTED. They add to the message what to do.
absl::Status CorruptModel(const std::string& message);
absl::Status UnsupportedModel(const std::string& message);

// The keys of a file below "<architecture>.". A value of the wrong kind or out of range gives
// MODEL_CORRUPT with the name of the key.
class ConfigKeys {
 public:
  ConfigKeys(const GgufReader& gguf, std::string_view architecture)
      : gguf_(gguf), prefix_(std::string(architecture) + ".") {}

  const GgufReader& gguf() const { return gguf_; }
  std::string Name(std::string_view key) const { return prefix_ + std::string(key); }
  bool Has(std::string_view key) const { return gguf_.Has(Name(key)); }

  // Returns a whole number in [1, largest].
  absl::StatusOr<int> Count(std::string_view key, uint64_t largest) const;
  absl::StatusOr<int> Count(std::string_view key, uint64_t largest, int absent) const;
  // Returns a finite number above zero.
  absl::StatusOr<float> Positive(std::string_view key) const;
  absl::StatusOr<float> Positive(std::string_view key, float absent) const;

  // Returns MODEL_UNSUPPORTED with the name of the first key that this build does not know, because
  // the key might change the result.
  absl::Status RefuseUnknown() const;

 private:
  const GgufReader& gguf_;
  std::string prefix_;
};

// Fills the rope_* fields. head_size and context must be set before.
absl::Status ReadRopeConfig(const ConfigKeys& keys, ModelConfig* config);

}  // namespace ruvd::inference
