// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/word_table.h"

#include <algorithm>
#include <utility>

namespace ruvd::inference {

bool WordTable::Add(std::string_view word, uint32_t value) {
  if (4 * (values_.size() + 1) > 3 * slots_.size()) {
    Grow();
  }
  const uint64_t hash = KeyedHash(word, key_);
  Slot& slot = slots_[Place(word, hash)];
  if (slot.entry != kFree) {
    return false;
  }
  slot = {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(values_.size())};
  words_.Add(word);
  values_.push_back(value);
  return true;
}

std::optional<uint32_t> WordTable::Set(std::string_view word, uint32_t value) {
  if (Add(word, value)) {
    return std::nullopt;
  }
  return std::exchange(values_[slots_[Place(word, KeyedHash(word, key_))].entry], value);
}

void WordTable::Grow() {
  slots_.assign(std::max<size_t>(64, 2 * slots_.size()), {});
  mask_ = slots_.size() - 1;
  for (uint32_t entry = 0; entry < values_.size(); ++entry) {
    const uint64_t hash = KeyedHash(words_[entry], key_);
    slots_[Place(words_[entry], hash)] = {static_cast<uint32_t>(hash >> 32), entry};
  }
}

}  // namespace ruvd::inference
