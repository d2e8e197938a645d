// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "node/terminal/command.h"

namespace ruvd::cli {

// The models that came with the program.
enum class ShippedModel {
  kUsual,  // what a node serves by default
  kSmall,  // a fifth of its size, for what trains much while a user waits
};

// Returns the model file of a demo: `flag`, else RUVD_MODEL__PATH, else the model that came with
// the program (in deploy/models of a source tree, or in share/ruvd/models of an installation).
// FILE_NOT_FOUND names every place that was searched.
absl::StatusOr<std::string> FindModel(const CommandContext& context, const std::string& flag,
                                      ShippedModel shipped = ShippedModel::kUsual);

}  // namespace ruvd::cli
