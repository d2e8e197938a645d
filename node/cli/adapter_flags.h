// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "node/terminal/verb.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::cli {

struct AdapterFlags {
  bool none = false;
  std::vector<std::string> chosen;  // NAME[@VERSION][=WEIGHT][@T_MIN..T_MAX]
};

// Adds --no-adapters and --adapter.
void AddAdapterFlags(Verb verb, AdapterFlags& flags);

// Writes the flags into `selection`. USAGE if a weight, range or version is not a number.
absl::Status ReadAdapterFlags(const AdapterFlags& flags,
                              inference::v1::AdapterSelection* selection);

}  // namespace ruvd::cli
