// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/model/model.h"
#include "node/actors/inference.h"

namespace ruvd {

// A part of a mix that acts in steps with t_min < t <= t_max, t being the masked share of the
// active window: [0, 1] is every step.
struct RangedPart {
  AdapterMix::Part part;
  float t_min = 0;
  float t_max = 1;
};

// The GGUF-LoRA files that a node loads when it starts (inference.adapters). Immutable,
// thread-safe.
class LoadedAdapters {
 public:
  LoadedAdapters() = default;

  // `entries` are FILE or FILE=WEIGHT, the weight for requests that choose nothing; without one: 1.
  // CONFIG_INVALID for a weight out of range, a name that occurs twice or too many files; the
  // errors of LoadAdapterFile, among them ADAPTER_INVALID and ADAPTER_FOR_OTHER_MODEL. All name the
  // entry.
  static absl::StatusOr<LoadedAdapters> Load(std::span<const std::string> entries,
                                             const Model& model);

  // What a request gets: the chosen ones, or without choices all with their configured weights.
  // Those of weight zero are left out. NOT_FOUND for an unknown name, telling the known ones.
  absl::StatusOr<std::vector<RangedPart>> Choose(std::span<const AdapterChoice> choices) const;

 private:
  std::vector<AdapterMix::Part> adapters_;
};

// INVALID_ARGUMENT for a weight beyond limits::kMaxAdapterWeight or a range that is empty or leaves
// [0, 1], naming the adapter.
absl::Status CheckAdapterChoice(const AdapterChoice& choice);

}  // namespace ruvd
