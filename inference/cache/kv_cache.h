// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "inference/model/model.h"

namespace ruvd {

// Keys and values of a prefix, per layer. Exact for causal and block-causal attention only. Not
// thread-safe.
class KvCache {
 public:
  KvCache(const ModelConfig& config, int capacity);
  // Tokens held; the next forward's positions start here.
  int length() const { return length_; }
  int capacity() const { return capacity_; }
  int layers() const { return static_cast<int>(keys_.size()); }
  // Forgets all tokens from `length` on.
  void Truncate(int length);

  // One layer's keys and values, capacity x (kv_heads * head_size). A forward writes its own and
  // calls Extend to keep them: the tokens held are then at least `length`.
  float* keys(size_t layer) { return keys_[layer].data(); }
  float* values(size_t layer) { return values_[layer].data(); }
  void Extend(int length);

 private:
  int capacity_;
  int length_ = 0;
  std::vector<std::vector<float>> keys_;  // per layer: capacity x (kv_heads * head_size)
  std::vector<std::vector<float>> values_;
};

}  // namespace ruvd
