// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the store reads back from its files: sealed values and the plaintexts of rows. No input may
// open as a sealed value, and what a row decoder accepts must encode and decode to the same again.

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
  static const SealKey key = [] {
    std::array<uint8_t, kSealKeyBytes> fixed{};
    return SealKey::FromBytes(fixed).value();
  }();
  static const KeyRing::View* const ring = [] {
    auto* keys = new KeyRing;
    std::array<uint8_t, kSealKeyBytes> fixed{};
    keys->Set(1, {.scope = "family/vec", .key = DataKey::FromBytes(fixed).value()});
    return new KeyRing::View(keys->Hold());
  }();
  RUVD_CHECK(!DecodeStoredValue(&key, ring, ColumnFamily::kVec, "row", bytes).ok());
  RUVD_CHECK(!DecodeStoredValue(&key, ring, ColumnFamily::kVec, "row", bytes, 7).ok());
  RUVD_CHECK(!DecodeStoredValue(&key, nullptr, ColumnFamily::kVec, "row", bytes).ok());
}

void DecodePatternRows(std::string_view bytes) {
  constexpr uint32_t kDimension = 4;
  if (const auto row = patterns::DecodeVecRow(bytes, kDimension); row.ok()) {
    RUVD_CHECK(patterns::EncodeVecRow(*row) == bytes);
  }
  if (const auto row = patterns::DecodeSlotRow(bytes); row.ok()) {
    RUVD_CHECK(patterns::DecodeSlotRow(patterns::EncodeSlotRow(*row)).value() == *row);
  }
  if (const auto row = patterns::DecodeMetaRow(bytes, PatternId{}); row.ok()) {
    const std::string again = patterns::EncodeMetaRow(*row);
    RUVD_CHECK(patterns::EncodeMetaRow(patterns::DecodeMetaRow(again, PatternId{}).value()) ==
               again);
  }
  if (const auto row = patterns::DecodeOplogRow(bytes); row.ok()) {
    RUVD_CHECK(patterns::DecodeOplogRow(patterns::EncodeOplogRow(*row)).value() == *row);
  }
  if (const auto row = patterns::DecodeCheckpointRow(bytes); row.ok()) {
    RUVD_CHECK(patterns::DecodeCheckpointRow(patterns::EncodeCheckpointRow(*row)).value() == *row);
  }
  if (const auto row = patterns::DecodeCollectionRow(bytes); row.ok()) {
    RUVD_CHECK(patterns::DecodeCollectionRow(patterns::EncodeCollectionRow(*row)).ok());
  }
}

void DecodeKeyRows(std::string_view bytes) {
  if (const auto row = DecodeKeyRecord(bytes); row.ok()) {
    RUVD_CHECK(EncodeKeyRecord(*row) == bytes);
  }
  if (const auto cursor = DecodeSweepCursor(bytes); cursor.ok()) {
    RUVD_CHECK(EncodeSweepCursor(*cursor) == bytes);
  }
  if (const auto mark = db::DecodeHighWater(bytes)) {
    RUVD_CHECK(db::EncodeHighWater(*mark) == bytes);
  }
  if (const auto parameters = PassphraseParameters::Decode(bytes); parameters.ok()) {
    RUVD_CHECK(parameters->Encode() == bytes);
  }
}

void DecodeOtherRows(std::string_view bytes) {
  if (const auto row = trajectories::DecodeTrajectory(bytes); row.ok()) {
    const std::string again = trajectories::EncodeTrajectory(*row);
    RUVD_CHECK(trajectories::EncodeTrajectory(trajectories::DecodeTrajectory(again).value()) ==
               again);
  }
  if (const auto row = DecodeItem(bytes); row.ok()) {
    RUVD_CHECK(DecodeItem(EncodeItem(*row)).ok());
  }
  if (const auto row = DecodeConsent(bytes); row.ok()) {
    RUVD_CHECK(DecodeConsent(EncodeConsent(*row)).ok());
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
