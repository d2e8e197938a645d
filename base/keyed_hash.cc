// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/keyed_hash.h"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/status.h"

namespace ruvd {
namespace {

struct State {
  uint64_t a, b, c, d;

  void Round() {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }
  void Add(uint64_t word) {
    d ^= word;
    Round();
    a ^= word;
  }
};

HashKey DrawKey() {
  HashKey key;
  ssize_t drawn = 0;
  do {
    drawn = ::getrandom(&key, sizeof key, 0);
  } while (drawn < 0 && errno == EINTR);
  RUVD_CHECK(drawn == sizeof key);  // Linux returns up to 256 bytes in one piece
  return key;
}

}  // namespace

const HashKey& ProcessHashKey() {
  static const HashKey kKey = DrawKey();
  return kKey;
}

uint64_t KeyedHash(std::string_view text, const HashKey& key) {
  State state{key.low ^ 0x736f6d6570736575ULL, key.high ^ 0x646f72616e646f6dULL,
              key.low ^ 0x6c7967656e657261ULL, key.high ^ 0x7465646279746573ULL};
  const size_t length = text.size();
  while (text.size() >= sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof word);
    state.Add(word);
    text.remove_prefix(sizeof word);
  }
  uint64_t last = uint64_t{length} << 56;
  for (size_t i = 0; i < text.size(); ++i) {
    last |= uint64_t{static_cast<uint8_t>(text[i])} << (8 * i);
  }
  state.Add(last);
  state.c ^= 0xff;
  state.Round();
  state.Round();
  state.Round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace ruvd
