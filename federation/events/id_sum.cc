// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/events/id_sum.h"

#include <algorithm>
#include <cstring>

namespace ruvd::federation {
namespace {

std::array<uint64_t, 4> WordsOf(const Digest& id) {
  std::array<uint64_t, 4> words;
  std::memcpy(words.data(), id.data(), sizeof(words));
  return words;
}

void AddWords(std::array<uint64_t, 4>& sum, const std::array<uint64_t, 4>& words) {
  uint64_t carry = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    uint64_t with_word;
    const bool over_word = __builtin_add_overflow(sum[i], words[i], &with_word);
    const bool over_carry = __builtin_add_overflow(with_word, carry, &sum[i]);
    carry = over_word || over_carry ? 1 : 0;
  }
}

void RemoveWords(std::array<uint64_t, 4>& sum, const std::array<uint64_t, 4>& words) {
  uint64_t borrow = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    uint64_t less_word;
    const bool under_word = __builtin_sub_overflow(sum[i], words[i], &less_word);
    const bool under_borrow = __builtin_sub_overflow(less_word, borrow, &sum[i]);
    borrow = under_word || under_borrow ? 1 : 0;
  }
}

}  // namespace

void IdSum::Add(const Digest& id) {
  AddWords(words, WordsOf(id));
  ++count;
}

void IdSum::Remove(const Digest& id) {
  RemoveWords(words, WordsOf(id));
  --count;
}

void IdSum::Add(const IdSum& other) {
  AddWords(words, other.words);
  count += other.count;
}

void IdSum::Remove(const IdSum& other) {
  RemoveWords(words, other.words);
  count -= other.count;
}

Fingerprint IdSum::fingerprint() const {
  ByteWriter writer;
  for (uint64_t word : words) {
    writer.Write(word);
  }
  const Digest digest = Sha256(writer.Write(count).str());
  Fingerprint fingerprint;
  std::copy_n(digest.begin(), fingerprint.size(), fingerprint.begin());
  return fingerprint;
}

}  // namespace ruvd::federation
