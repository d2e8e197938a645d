// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Messages of masked sums from outside: what decodes must encode to the same bytes, and a clique
// that decodes must be valid.

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "privacy/masking/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruvd::privacy::masking;
  const std::span<const uint8_t> bytes(data, size);
  if (const auto offer = DecodeOffer(bytes); offer.ok()) {
    RUVD_CHECK(EncodeOffer(*offer) == ruvd::AsText(bytes));
  }
  if (const auto clique = DecodeClique(bytes, {}); clique.ok()) {
    RUVD_CHECK(EncodeClique(*clique) == ruvd::AsText(bytes));
    RUVD_CHECK(clique->Check().ok());
  }
  if (const auto update = DecodeMaskedUpdate(bytes); update.ok()) {
    RUVD_CHECK(EncodeMaskedUpdate(*update) == ruvd::AsText(bytes));
    const auto head = DecodeMaskedUpdateHead(bytes);
    RUVD_CHECK(head.ok() && head->values.empty() && head->sender == update->sender &&
               head->round == update->round && head->set == update->set &&
               head->layout == update->layout);
  }
  return 0;
}
