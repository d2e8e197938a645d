// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/row_text.h"

#include <algorithm>

#include "base/reasons.h"
#include "base/status.h"
#include "base/utf8.h"

namespace ruvd::storage {

absl::Status CheckTexts(std::string_view what, std::initializer_list<std::string_view> texts) {
  if (std::all_of(texts.begin(), texts.end(), IsUtf8)) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "{} holds a text that is not UTF-8; convert or replace it", what);
}

absl::Status CorruptRow(std::string_view what) {
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "{} does not decode; restore the store from a backup", what);
}

}  // namespace ruvd::storage
