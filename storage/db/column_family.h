// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ruvd::storage {

// The tables of the store. The numbers select the seal subkeys and are authenticated with every
// value: never change or reuse them. docs/store-format.md lists the keys and values of each table.
enum class ColumnFamily : uint8_t {
  kDefault = 0,
  kVec = 1,
  kMeta = 2,
  kSlot = 3,
  kPayload = 4,
  kOplog = 5,
  kGraph = 6,
  kPeers = 7,
  kTrajectory = 8,
  kConsent = 9,
  kItem = 10,
  kPolicy = 11,
  kSession = 12,
  kWitness = 13,
  kEdge = 14,
  kLedger = 15,
  kKey = 16,
  kChange = 17,
  kState = 18,
  kLesson = 19,
  kToken = 20,
};

struct ColumnFamilyInfo {
  ColumnFamily family;
  std::string_view name;
  // Below the soft reserve, puts are refused: this is bulk data that the node can serve without.
  bool stops_at_soft_reserve;
  // Values have kilobytes or more and are kept out of compaction.
  bool large_values;
};

// The order is that of the enumeration.
inline constexpr std::array<ColumnFamilyInfo, 21> kColumnFamilies = {{
    {ColumnFamily::kDefault, "default", false, false},
    {ColumnFamily::kVec, "vec", true, false},
    {ColumnFamily::kMeta, "meta", false, false},
    {ColumnFamily::kSlot, "slot", false, false},
    {ColumnFamily::kPayload, "payload", true, true},
    {ColumnFamily::kOplog, "oplog", false, false},
    {ColumnFamily::kGraph, "graph", true, false},
    {ColumnFamily::kPeers, "peers", false, false},
    {ColumnFamily::kTrajectory, "trajectory", false, true},
    {ColumnFamily::kConsent, "consent", false, false},
    {ColumnFamily::kItem, "item", true, true},
    {ColumnFamily::kPolicy, "policy", true, true},
    {ColumnFamily::kSession, "session", false, true},
    {ColumnFamily::kWitness, "witness", true, true},
    {ColumnFamily::kEdge, "edge", true, false},
    {ColumnFamily::kLedger, "ledger", false, false},
    {ColumnFamily::kKey, "key", false, false},
    {ColumnFamily::kChange, "change", false, true},
    {ColumnFamily::kState, "state", false, true},
    {ColumnFamily::kLesson, "lesson", true, true},
    {ColumnFamily::kToken, "token", true, true},
}};

inline const ColumnFamilyInfo& InfoOf(ColumnFamily family) {
  return kColumnFamilies[static_cast<size_t>(family)];
}

}  // namespace ruvd::storage
