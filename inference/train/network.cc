// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/network.h"

#include <fmt/format.h>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/model/rope.h"

namespace ruvd::inference::train {
namespace {

constexpr std::array<std::string_view, kLayerLinears + 1> kNames = {
    "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down", "output"};

}  // namespace

std::string_view LinearName(Linear linear) {
  return kNames[static_cast<size_t>(linear)];
}

std::string TensorOf(const Site& site) {
  return site.linear == Linear::kHead
             ? std::string("output.weight")
             : fmt::format("blk.{}.{}.weight", site.layer, LinearName(site.linear));
}

absl::StatusOr<Site> SiteOf(const ModelConfig& config, std::string_view tensor) {
  for (const Site& site : SitesFrom(config, 0, true)) {
    if (TensorOf(site) == tensor) {
      return site;
    }
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "cannot train {}; choose output.weight or blk.N.PART.weight with N from 0 to {} and "
               "PART one of attn_q, attn_k, attn_v, attn_output, ffn_gate, ffn_up, ffn_down",
               tensor, config.layers - 1);
}

std::vector<Site> SitesFrom(const ModelConfig& config, size_t first, bool head) {
  const auto layers = static_cast<size_t>(config.layers);
  std::vector<Site> sites;
  for (size_t layer = first; layer < layers; ++layer) {
    for (size_t i = 0; i < kLayerLinears; ++i) {
      sites.push_back({layer, static_cast<Linear>(i)});
    }
  }
  if (head) {
    sites.push_back({layers, Linear::kHead});
  }
  return sites;
}

NetworkShape NetworkShape::Of(const ModelConfig& config) {
  return {.layers = static_cast<size_t>(config.layers),
          .width = static_cast<size_t>(config.width),
          .heads = static_cast<size_t>(config.heads),
          .kv_heads = static_cast<size_t>(config.kv_heads),
          .head_size = static_cast<size_t>(config.head_size),
          .ffn = static_cast<size_t>(config.ffn),
          .vocabulary = static_cast<size_t>(config.vocabulary),
          .epsilon = static_cast<double>(config.rms_epsilon),
          .rope_frequencies = RopeFrequencies(config),
          .rope_magnitude = RopeMagnitude(config),
          .sliding_window = static_cast<size_t>(config.sliding_window),
          .rope_adjacent = config.rope_adjacent};
}

size_t NetworkShape::In(Linear linear) const {
  switch (linear) {
    case Linear::kAttentionOutput:
      return q_width();
    case Linear::kDown:
      return ffn;
    default:
      return width;
  }
}

size_t NetworkShape::Out(Linear linear) const {
  switch (linear) {
    case Linear::kQuery:
      return q_width();
    case Linear::kKey:
    case Linear::kValue:
      return kv_width();
    case Linear::kGate:
    case Linear::kUp:
      return ffn;
    case Linear::kHead:
      return vocabulary;
    default:
      return width;
  }
}

}  // namespace ruvd::inference::train
