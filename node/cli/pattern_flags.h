// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "node/terminal/verb.h"
#include "ruvd/pattern/v1/pattern.pb.h"

namespace ruvd::cli {

// The flags by which verbs choose patterns. An object must live as long as the verb's action.
class PatternFlags {
 public:
  void AddTo(Verb verb);
  // Writes the flags into `filter`. USAGE if a flag has an invalid value.
  absl::Status Write(pattern::v1::PatternFilter* filter) const;

 private:
  std::optional<uint32_t> bank_;
  std::string task_;
  std::vector<std::string> tiers_;
  std::string origin_;
  std::optional<float> min_quality_;
  std::string since_;
  std::string until_;
};

}  // namespace ruvd::cli
