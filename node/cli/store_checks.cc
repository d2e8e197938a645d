// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/store_checks.h"

#include "storage/verify/row_checks.h"

namespace ruvd {

std::vector<StoreCheck> StoreChecks() {
  return RowChecks();
}

}  // namespace ruvd
