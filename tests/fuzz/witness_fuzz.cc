// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows and archives of the witness log: no input may pass as an archive, and what a row's decoder
// accepts must encode and decode to the same again.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/witness/witness_archive.h"
#include "storage/witness/witness_rows.h"

namespace ruvd {
namespace {

void DecodeRows(std::string_view bytes) {
  if (auto entry = witness::DecodeRecord(bytes); entry.ok()) {
    const std::string again = witness::EncodeRecord(*entry);
    RUVD_CHECK(witness::EncodeRecord(witness::DecodeRecord(again).value()) == again);
  }
  WitnessEntry entry;
  if (witness::DecodeEmbeddings(bytes, &entry).ok()) {
    WitnessEntry again;
    RUVD_CHECK(witness::DecodeEmbeddings(witness::EncodeEmbeddings(entry), &again).ok());
  }
  if (const auto archived = witness::DecodeArchived(bytes); archived.ok()) {
    RUVD_CHECK(witness::DecodeArchived(witness::EncodeArchived(*archived)).ok());
  }
  if (const auto expiry = witness::DecodeExpiry(bytes); expiry.ok()) {
    RUVD_CHECK(witness::DecodeExpiry(witness::EncodeExpiry(*expiry)).ok());
  }
}

}  // namespace
}  // namespace ruvd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ruvd::SealKey key = [] {
    std::array<uint8_t, ruvd::kSealKeyBytes> fixed{};
    return ruvd::SealKey::FromBytes(fixed).value();
  }();
  ruvd::DecodeRows(ruvd::AsText({data, size}));
  RUVD_CHECK(!ruvd::ReadWitnessArchiveBytes({data, size}, key, [](const ruvd::WitnessEntry&) {
                return absl::OkStatus();
              }).ok());
  return 0;
}
