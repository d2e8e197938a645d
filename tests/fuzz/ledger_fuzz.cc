// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows, heads, counters and files of the privacy ledger: what a decoder accepts must encode and
// decode to the same.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/ledger/ledger_counter.h"
#include "storage/ledger/ledger_file.h"
#include "storage/ledger/ledger_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace ledger = ruvd::ledger;
  const std::string_view bytes = ruvd::AsText({data, size});
  if (const auto entry = ledger::DecodeEntry(bytes); entry.ok()) {
    const std::string again = ledger::EncodeEntry(*entry);
    RUVD_CHECK(ledger::EncodeEntry(ledger::DecodeEntry(again).value()) == again);
  }
  if (const auto row = ledger::DecodeRow(bytes); row.ok()) {
    RUVD_CHECK(ledger::DecodeRow(ledger::EncodeRow(*row)).ok());
  }
  if (const auto head = ledger::ParseHead(bytes); head.ok()) {
    RUVD_CHECK(ledger::ParseHead(ledger::FormatHead(*head)).value() == *head);
  }
  if (const auto counter = ledger::ParseCounter(bytes); counter.ok()) {
    RUVD_CHECK(ledger::FormatCounter(*counter) == bytes);
  }
  if (const auto file = ledger::VerifyLedgerFile({data, size}); file.ok()) {
    RUVD_CHECK(file->head.sequence == 0 || file->totals.size() > 0);
  }
  return 0;
}
