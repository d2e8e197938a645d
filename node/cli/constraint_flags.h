// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "node/terminal/verb.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::cli {

// What a completion is held to. At most one of them is set.
struct ConstraintFlags {
  std::string schema_file;
  bool json = false;
  std::string regex;
  std::vector<std::string> choices;
  std::string grammar_file;
};

void AddConstraintFlags(Verb verb, ConstraintFlags& flags);
// Writes the flags into the request. Returns the errors of ReadFile.
absl::Status ReadConstraintFlags(const ConstraintFlags& flags,
                                 inference::v1::GenerateRequest* request);

}  // namespace ruvd::cli
