// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows and heads of the privacy ledger: what a decoder accepts must encode and decode to the same.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
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
  return 0;
}
