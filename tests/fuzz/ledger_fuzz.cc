// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows, heads, counters and files of the privacy ledger: what a decoder accepts must encode to
// bytes that decode to the same value. Files are also tried as a node would sign them that writes
// what it likes: without that no input passes the first hash.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "privacy/identity/node_key.h"
#include "storage/ledger/ledger_counter.h"
#include "storage/ledger/ledger_file.h"
#include "storage/ledger/ledger_rows.h"

namespace {

// Makes a ledger file of the bytes: each entry has as many bytes as the byte before it says.
std::string SignedFile(std::span<const uint8_t> data) {
  namespace ledger = ruvd::storage::ledger;
  static const ruvd::privacy::NodeKey key = ruvd::privacy::NodeKey::FromSeed({7});
  uint64_t entries = 0;
  ruvd::Digest hash{};
  ruvd::ByteWriter rows;
  while (!data.empty()) {
    const size_t length = std::min<size_t>(data[0], data.size() - 1);
    const std::string_view entry = ruvd::AsText(data.subspan(1, length));
    data = data.subspan(1 + length);
    hash = ledger::ChainHash(hash, entry);
    rows.Write(static_cast<uint32_t>(length)).WriteText(entry).WriteBytes(hash);
    rows.WriteBytes(key.Sign(ruvd::AsBytes(ledger::SignedBytes(key.id(), ++entries, hash))));
  }
  ruvd::ByteWriter end;
  end.WriteText({"RUVDLLM-LEDGER-END-v1\0", 22}).WriteBytes(key.id()).Write(int64_t{5});
  end.Write(entries).WriteBytes(hash);
  ruvd::ByteWriter file;
  file.WriteText("RUVDLED1").WriteBytes(key.id()).WriteBytes(key.public_key()).Write(int64_t{5});
  file.Write(entries).WriteText(rows.str()).WriteBytes(key.Sign(ruvd::AsBytes(end.str())));
  return file.Take();
}

void CheckFile(std::span<const uint8_t> bytes) {
  namespace ledger = ruvd::storage::ledger;
  const auto file = ledger::VerifyLedgerFile(bytes);
  ledger::Counter counter;
  counter.lessons.for_all.q32[0] = 1;
  const ledger::LedgerFileDemands demands{
      .budgets = {{.unit = ruvd::privacy::PrivacyUnit::kLesson, .epsilon = 1, .delta = 1e-6},
                  {.unit = ruvd::privacy::PrivacyUnit::kUser, .epsilon = 4, .delta = 1e-6},
                  {.unit = ruvd::privacy::PrivacyUnit::kNode, .epsilon = 6, .delta = 1e-6}},
      .counter = counter};
  const auto demanded = ledger::VerifyLedgerFile(bytes, demands);
  RUVD_CHECK(file.ok() || !demanded.ok());
  if (file.ok()) {
    for (const ruvd::privacy::UnitBudget& budget : demands.budgets) {
      const auto spent = file->accounts.LargestEpsilon(budget.unit, budget.delta);
      RUVD_CHECK(*spent >= 0 && (!demanded.ok() || *spent <= budget.epsilon));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace ledger = ruvd::storage::ledger;
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
  CheckFile({data, size});
  CheckFile(ruvd::AsBytes(SignedFile({data, size})));
  return 0;
}
