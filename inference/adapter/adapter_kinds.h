// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/adapter/frame_set.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// KindName returns "lora", "micro-lora", "base-lora", "ffa" or "core"; KindByName returns nullopt
// for another name.
std::string_view KindName(AdapterKind kind);
std::optional<AdapterKind> KindByName(std::string_view name);

// Returns whether adapters of this kind lie in a frame.
inline bool UsesFrame(AdapterKind kind) {
  return kind == AdapterKind::kFfa || kind == AdapterKind::kCore;
}

// Returns ADAPTER_INVALID if a rank is outside the range of the kind (see RanksOf), if a kind
// without a frame names one, or if a kind with a frame does not.
absl::Status CheckKind(const Adapter& adapter);

struct RankRange {
  int least = 1;
  int most = 1;
};
RankRange RanksOf(AdapterKind kind);

// The linear layers of a model that an adapter changes.
enum class Modules : uint8_t {
  kQv,         // attn_q, attn_v
  kAttention,  // attn_q, attn_k, attn_v, attn_output
  kAll,        // all seven
};
// Accepts "qv", "attention" and "all".
std::optional<Modules> ModulesByName(std::string_view name);

// Returns the tensor names of these modules, in ascending order, for the last `layers` layers or,
// if `layers` is 0, for all.
std::vector<std::string> LinearTargets(const Model& model, Modules modules, int layers = 0);

// Describes an adapter before its training.
struct AdapterPlan {
  AdapterKind kind = AdapterKind::kLora;
  int rank = 8;
  std::vector<std::string> targets;
};

// Returns the adapter with which training begins; it does not change the model yet. In LoRA kinds,
// A has orthonormal rows from `seed` and B = 0; in kFfa and kCore, A comes from `frame` and B = 0.
// If a side of a matrix or the frame's rank for a module is below the rank, it is the rank there.
// The scale is 1. Errors: INVALID_ARGUMENT for a rank that the kind does not allow, a target that
// the model or the frame does not have, or a missing frame; ADAPTER_FOR_OTHER_MODEL for a frame of
// another model.
absl::StatusOr<Adapter> StartAdapter(const Model& model, const AdapterPlan& plan,
                                     const FrameSet* frame, uint64_t seed);

// The trained part of a kCore adapter, which nodes share. It is linear: sums, means and differences
// of core sets of one frame correspond to those of the adapters.
struct CoreSet {
  struct Core {
    int rank = 0;
    std::vector<float> values;  // rank x rank, row major
  };
  Digest frame_id{};
  Digest model_hash{};
  std::map<std::string, Core> cores;  // by target
};

// Returns the adapter scale * P R Q with the leading rows and columns of the frame's factors.
// FRAME_MISMATCH for cores of another frame; UPDATE_INVALID for a target or rank that the frame
// does not have, a wrong size, or a value that is not finite.
absl::StatusOr<std::shared_ptr<const Adapter>> AdapterFromCores(const FrameSet& frame,
                                                                const CoreSet& cores,
                                                                std::string name, uint32_t version,
                                                                float scale);

// Returns the cores of a kCore adapter, including the scale: R = scale P^T B. FRAME_MISMATCH for
// another frame; ADAPTER_INVALID if the adapter is of another kind or its factors are not the
// frame's.
absl::StatusOr<CoreSet> CoresOf(const Adapter& adapter, const FrameSet& frame);

}  // namespace ruvd::inference
