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

// "lora", "micro-lora", "base-lora", "ffa", "core"; nullopt for another name.
std::string_view KindName(AdapterKind kind);
std::optional<AdapterKind> KindByName(std::string_view name);

// Whether adapters of this kind lie in a frame.
inline bool InFrame(AdapterKind kind) {
  return kind == AdapterKind::kFfa || kind == AdapterKind::kCore;
}

// ADAPTER_INVALID where a rank is outside of what the kind says (see RanksOf), or a frame is named
// for a kind without one, or missing for one with it.
absl::Status CheckKind(const Adapter& adapter);

struct RankRange {
  int least = 1;
  int most = 1;
};
RankRange RanksOf(AdapterKind kind);

// Which of the linear layers of a model an adapter changes.
enum class Modules : uint8_t {
  kQv,         // attn_q, attn_v
  kAttention,  // attn_q, attn_k, attn_v, attn_output
  kAll,        // all seven
};
std::string_view ModulesName(Modules modules);  // "qv", "attention", "all"
std::optional<Modules> ModulesByName(std::string_view name);

// Their tensor names, ascending, in the last `layers` layers, or in all of them for 0.
std::vector<std::string> LinearTargets(const Model& model, Modules modules, int layers = 0);

// An adapter before its training.
struct AdapterPlan {
  AdapterKind kind = AdapterKind::kLora;
  int rank = 8;
  std::vector<std::string> targets;
};

// The adapter that training begins with; it changes nothing yet. LoRA kinds: A with orthonormal
// rows from `seed` and B = 0; kFfa and kCore: A from `frame` and B = 0. Where a side of a matrix or
// a frame's module is below the rank, that is the rank there. Scale 1. INVALID_ARGUMENT for a rank
// that the kind does not have, a target that the model or the frame lacks, no frame where one is
// needed, or one of another model (ADAPTER_FOR_OTHER_MODEL).
absl::StatusOr<Adapter> StartAdapter(const Model& model, const AdapterPlan& plan,
                                     const FrameSet* frame, uint64_t seed);

// The trained part of a kCore adapter: what nodes share. Linear: sums, means and differences of
// core sets of one frame are those of the adapters.
struct CoreSet {
  struct Core {
    int rank = 0;
    std::vector<float> values;  // rank x rank, row major
  };
  Digest frame_id{};
  Digest model_hash{};
  std::map<std::string, Core> cores;  // by target
};

// The adapter scale * P R Q with the leading rows and columns of the frame's factors.
// FRAME_MISMATCH for cores of another frame; UPDATE_INVALID for a target or rank that the frame
// lacks, a wrong size, or a value that is not finite.
absl::StatusOr<std::shared_ptr<const Adapter>> AdapterFromCores(const FrameSet& frame,
                                                                const CoreSet& cores,
                                                                std::string name, uint32_t version,
                                                                float scale);

// The cores of a kCore adapter, scale included: R = scale P^T B. FRAME_MISMATCH for another frame;
// ADAPTER_INVALID where the adapter is of another kind or its factors are not the frame's.
absl::StatusOr<CoreSet> CoresOf(const Adapter& adapter, const FrameSet& frame);

}  // namespace ruvd::inference
