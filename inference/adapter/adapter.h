// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace ruvd::inference {

// A low-rank change of one linear layer: y += scale * B (A x). An R-core P R Q is the case A = Q, B
// = P R.
struct LowRank {
  int rank = 0;
  int in = 0;
  int out = 0;
  std::vector<float> a;  // rank x in, row major
  std::vector<float> b;  // out x rank, row major
  float scale = 1.0F;    // alpha / rank, already divided
};

// What of an adapter is trained. It decides which adapters can be added exactly without a higher
// rank, what may be noised for sharing, and what a learner may go on with; a forward does not ask.
enum class AdapterKind : uint8_t {
  kLora = 0,       // A and B, of any rank (arXiv 2106.09685)
  kMicroLora = 1,  // the same of rank 1 or 2: of one cluster of requests
  kBaseLora = 2,   // the same of rank 4 to 16: of many
  kFfa = 3,        // B; A is the leading rows of a frame's Q (FFA-LoRA, arXiv 2403.12313)
  kCore = 4,       // R; A as for kFfa and B = P R with the leading columns of the frame's P
};

// An adapter: immutable once built, shared by the requests pinned to it.
struct Adapter {
  std::string name;
  uint32_t version = 0;
  AdapterKind kind = AdapterKind::kLora;
  Digest frame_id{};                       // of kFfa and kCore: the frame's; else zero
  Digest model_hash{};                     // the base model it was trained on
  std::map<std::string, LowRank> targets;  // by base tensor name, e.g. "blk.7.attn_output.weight"
};

// The adapters of one forward pass with their weights; empty means the base model. Linear: the
// outputs add.
struct AdapterMix {
  struct Part {
    std::shared_ptr<const Adapter> adapter;
    float weight = 1.0F;
  };
  std::vector<Part> parts;
  bool empty() const { return parts.empty(); }
};

// Memory of its factors, in bytes.
size_t FactorBytes(const Adapter& adapter);

// The same adapters with the same weights in the same order: equal keys, values and outputs.
bool SameMix(const AdapterMix& a, const AdapterMix& b);

}  // namespace ruvd::inference
