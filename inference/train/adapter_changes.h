// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/train/change.h"

namespace ruvd::train {

// Adds a LoRA of this rank at every site: A from the seed, orthonormal rows, each site from a
// stream of its own; B from zero. With `fixed_a` only B is trained (FFA). INVALID_ARGUMENT for a
// rank that does not fit a matrix or a site that is not there.
absl::Status AddLoras(const Model& model, std::span<const Site> sites, int rank, bool fixed_a,
                      uint64_t seed, ChangeSet<float>* changes);

// What the changes are now, as an adapter of the model.
std::shared_ptr<const Adapter> AdapterOf(const Model& model, const ChangeSet<float>& changes,
                                         std::string name, uint32_t version);

}  // namespace ruvd::train
