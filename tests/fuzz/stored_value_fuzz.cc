// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the store reads back from its files: sealed values and the plaintexts of rows. No input may
// open as a sealed value, and what a row decoder accepts must encode to bytes that decode to the
// same value.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "privacy/seal/passphrase.h"
#include "storage/consent/consent_store.h"
#include "storage/db/high_water.h"
#include "storage/db/key_record.h"
#include "storage/db/row_sweep.h"
#include "storage/db/stored_value.h"
#include "storage/items/item_store.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/trajectories/trajectory_rows.h"

namespace ruvd {
namespace {

void OpenSealed(std::string_view bytes) {
  static const privacy::SealKey key = [] {
    std::array<uint8_t, privacy::kSealKeyBytes> fixed{};
    return privacy::SealKey::FromBytes(fixed).value();
  }();
  static const storage::KeyRing::View* const ring = [] {
    auto* keys = new storage::KeyRing;
    std::array<uint8_t, privacy::kSealKeyBytes> fixed{};
    keys->Set(1, {.scope = "family/vec", .key = privacy::DataKey::FromBytes(fixed).value()});
    return new storage::KeyRing::View(keys->Hold());
  }();
  RUVD_CHECK(
      !storage::DecodeStoredValue(&key, ring, storage::ColumnFamily::kVec, "row", bytes).ok());
  RUVD_CHECK(
      !storage::DecodeStoredValue(&key, ring, storage::ColumnFamily::kVec, "row", bytes, 7).ok());
  RUVD_CHECK(
      !storage::DecodeStoredValue(&key, nullptr, storage::ColumnFamily::kVec, "row", bytes).ok());
}

void DecodePatternRows(std::string_view bytes) {
  constexpr uint32_t kDimension = 4;
  if (const auto row = storage::patterns::DecodeVecRow(bytes, kDimension); row.ok()) {
    RUVD_CHECK(storage::patterns::EncodeVecRow(*row) == bytes);
  }
  if (const auto row = storage::patterns::DecodeSlotRow(bytes); row.ok()) {
    RUVD_CHECK(storage::patterns::DecodeSlotRow(storage::patterns::EncodeSlotRow(*row)).value() ==
               *row);
  }
  if (const auto row = storage::patterns::DecodeMetaRow(bytes, storage::PatternId{}); row.ok()) {
    const std::string again = storage::patterns::EncodeMetaRow(*row);
    RUVD_CHECK(storage::patterns::EncodeMetaRow(
                   storage::patterns::DecodeMetaRow(again, storage::PatternId{}).value()) == again);
  }
  if (const auto row = storage::patterns::DecodeOplogRow(bytes); row.ok()) {
    RUVD_CHECK(storage::patterns::DecodeOplogRow(storage::patterns::EncodeOplogRow(*row)).value() ==
               *row);
  }
  if (const auto row = storage::patterns::DecodeCheckpointRow(bytes); row.ok()) {
    RUVD_CHECK(storage::patterns::DecodeCheckpointRow(storage::patterns::EncodeCheckpointRow(*row))
                   .value() == *row);
  }
  if (const auto row = storage::patterns::DecodeCollectionRow(bytes); row.ok()) {
    RUVD_CHECK(
        storage::patterns::DecodeCollectionRow(storage::patterns::EncodeCollectionRow(*row)).ok());
  }
}

void DecodeKeyRows(std::string_view bytes) {
  if (const auto row = storage::DecodeKeyRecord(bytes); row.ok()) {
    RUVD_CHECK(storage::EncodeKeyRecord(*row) == bytes);
  }
  if (const auto cursor = storage::DecodeSweepCursor(bytes); cursor.ok()) {
    RUVD_CHECK(storage::EncodeSweepCursor(*cursor) == bytes);
  }
  if (const auto mark = storage::db::DecodeHighWater(bytes)) {
    RUVD_CHECK(storage::db::EncodeHighWater(*mark) == bytes);
  }
  if (const auto parameters = privacy::PassphraseParameters::Decode(bytes); parameters.ok()) {
    RUVD_CHECK(parameters->Encode() == bytes);
  }
}

void DecodeOtherRows(std::string_view bytes) {
  if (const auto row = storage::trajectories::DecodeTrajectory(bytes); row.ok()) {
    const std::string again = storage::trajectories::EncodeTrajectory(*row);
    RUVD_CHECK(storage::trajectories::EncodeTrajectory(
                   storage::trajectories::DecodeTrajectory(again).value()) == again);
  }
  if (const auto row = storage::DecodeItem(bytes); row.ok()) {
    RUVD_CHECK(storage::DecodeItem(storage::EncodeItem(*row)).ok());
  }
  if (const auto row = storage::DecodeConsent(bytes); row.ok()) {
    RUVD_CHECK(storage::DecodeConsent(storage::EncodeConsent(*row)).ok());
  }
}

}  // namespace
}  // namespace ruvd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = ruvd::AsText({data, size});
  ruvd::OpenSealed(bytes);
  ruvd::DecodePatternRows(bytes);
  ruvd::DecodeKeyRows(bytes);
  ruvd::DecodeOtherRows(bytes);
  return 0;
}
