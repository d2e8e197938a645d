// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "storage/db/database.h"
#include "storage/db/row_sweep.h"

namespace ruvd::storage {

// A step from the schema before `to` to `to`. Every row is judged once, in bounded batches, and the
// step continues after the process was killed. A judge must keep rows that already have the new
// form. Steps run in order at open; to add a version, add a step here.
struct Migration {
  uint32_t to = 0;
  std::string_view sweep_name;
  RowSweep::Judge (*make_judge)(Database::Impl& impl) = nullptr;
};

std::span<const Migration> Migrations();

}  // namespace ruvd::storage
