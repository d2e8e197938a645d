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

// The part of an adapter that is trained. It decides which adapters can be added exactly without a
// higher rank, which numbers may be noised for sharing, and with what training may continue. A
// forward pass does not use it.
enum class AdapterKind : uint8_t {
  kLora = 0,       // A and B, of any rank (arXiv 2106.09685)
  kMicroLora = 1,  // rank 1 or 2, for one cluster of requests
  kBaseLora = 2,   // rank 4 to 16, for many clusters
  kFfa = 3,        // only B; A is the leading rows of a frame's Q (FFA-LoRA, arXiv 2403.12313)
  kCore = 4,  // only R; A is as for kFfa, and B = P R with the leading columns of the frame's P
};

// An adapter. It is immutable once built, and requests that use it share it.
struct Adapter {
  std::string name;
  uint32_t version = 0;
  AdapterKind kind = AdapterKind::kLora;
  Digest frame_id{};                       // the frame's id for kFfa and kCore; else zero
  Digest model_hash{};                     // the base model it was trained on
  std::map<std::string, LowRank> targets;  // by base tensor name, e.g. "blk.7.attn_output.weight"
};

// The adapters of one forward pass with their weights. An empty mix means the base model. Mixes are
// linear: the outputs of the parts add.
struct AdapterMix {
  struct Part {
    std::shared_ptr<const Adapter> adapter;
    float weight = 1.0F;
  };
  std::vector<Part> parts;
  bool empty() const { return parts.empty(); }
};

// Returns the memory of the adapter's factors, in bytes.
size_t FactorBytes(const Adapter& adapter);

// Returns whether both have the same adapters with the same weights in the same order. Then keys,
// values and outputs are equal too.
bool SameMix(const AdapterMix& a, const AdapterMix& b);

}  // namespace ruvd::inference
