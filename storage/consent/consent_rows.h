// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Keys of the family `consent` (docs/store-format.md), internal to storage.
namespace ruvd::storage::consent_rows {

inline constexpr char kOperatorKey[] = "consent";
inline constexpr char kUserPrefix[] = "u/";
inline constexpr char kReleasePrefix[] = "r/";
inline constexpr char kWithdrawalPrefix[] = "w/";

}  // namespace ruvd::storage::consent_rows
