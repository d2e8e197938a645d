// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/tokens/observed_rows.h"

#include <algorithm>

#include "base/status.h"
#include "ruvd/storage/v1/token.pb.h"
#include "storage/db/row_key.h"
#include "storage/limits.h"
#include "storage/row_text.h"

namespace ruvd::storage::tokens {

std::string ObservedKey(std::string_view name) {
  return RowKey().Text(kObservedPrefix).Text(name).Take();
}

std::string EncodeObserved(const ObservedLesson& lesson) {
  v1::ObservedLesson row;
  row.set_name(lesson.name);
  row.set_user_id(lesson.user_id);
  row.set_made_by(lesson.made_by.data(), lesson.made_by.size());
  row.set_source(lesson.source.data(), lesson.source.size());
  row.set_masked(lesson.masked);
  row.set_causal(lesson.causal);
  return row.SerializeAsString();
}

absl::StatusOr<ObservedLesson> DecodeObserved(std::string_view bytes) {
  constexpr char kRow[] = "the row of an observed lesson";
  ASSIGN_OR_RETURN(auto row, ParseRow<v1::ObservedLesson>(bytes, kRow));
  ObservedLesson lesson;
  if (row.name().empty() || row.name().size() > limits::kMaxObservedNameBytes ||
      row.made_by().size() != lesson.made_by.size() ||
      row.source().size() != lesson.source.size()) {
    return CorruptRow(kRow);
  }
  lesson.name = std::move(*row.mutable_name());
  lesson.user_id = std::move(*row.mutable_user_id());
  std::ranges::copy(AsBytes(row.made_by()), lesson.made_by.begin());
  std::ranges::copy(AsBytes(row.source()), lesson.source.begin());
  lesson.masked = std::move(*row.mutable_masked());
  lesson.causal = std::move(*row.mutable_causal());
  return lesson;
}

}  // namespace ruvd::storage::tokens
