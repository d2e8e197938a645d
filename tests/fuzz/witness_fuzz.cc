// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows and archives of the witness log: no input may pass as an archive, and what a row's decoder
// accepts must encode to bytes that decode to the same value.

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
  if (auto entry = storage::witness::DecodeRecord(bytes); entry.ok()) {
    const std::string again = storage::witness::EncodeRecord(*entry);
    RUVD_CHECK(storage::witness::EncodeRecord(storage::witness::DecodeRecord(again).value()) ==
               again);
  }
  storage::WitnessEntry entry;
  if (storage::witness::DecodeEmbeddings(bytes, &entry).ok()) {
    storage::WitnessEntry again;
    RUVD_CHECK(
        storage::witness::DecodeEmbeddings(storage::witness::EncodeEmbeddings(entry), &again).ok());
  }
  if (const auto archived = storage::witness::DecodeArchived(bytes); archived.ok()) {
    RUVD_CHECK(storage::witness::DecodeArchived(storage::witness::EncodeArchived(*archived)).ok());
  }
  if (const auto expiry = storage::witness::DecodeExpiry(bytes); expiry.ok()) {
    RUVD_CHECK(storage::witness::DecodeExpiry(storage::witness::EncodeExpiry(*expiry)).ok());
  }
}

}  // namespace
}  // namespace ruvd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ruvd::privacy::SealKey key = [] {
    std::array<uint8_t, ruvd::privacy::kSealKeyBytes> fixed{};
    return ruvd::privacy::SealKey::FromBytes(fixed).value();
  }();
  ruvd::DecodeRows(ruvd::AsText({data, size}));
  RUVD_CHECK(
      !ruvd::storage::ReadWitnessArchiveBytes(
           {data, size}, key, [](const ruvd::storage::WitnessEntry&) { return absl::OkStatus(); })
           .ok());
  return 0;
}
