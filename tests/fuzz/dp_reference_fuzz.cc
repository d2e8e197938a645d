// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tables of accountants' figures: what the parser accepts is in the ranges of the accountants.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "privacy/dp/sampled_gaussian.h"
#include "tests/privacy/reference/reference_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto rows = ruvd::privacy::dp::ParseReferenceTable(ruvd::AsText({data, size}));
  if (!rows.ok()) {
    return 0;
  }
  for (const ruvd::privacy::dp::ReferenceRow& row : *rows) {
    const bool asks_sigma = row.method == ruvd::privacy::dp::Method::kAnalyticSigma;
    RUVD_CHECK(asks_sigma ||
               ruvd::privacy::dp::CheckSampledGaussian({row.q, row.sigma, row.steps}).ok());
    RUVD_CHECK(row.method == ruvd::privacy::dp::Method::kRdpAtOrder
                   ? row.order > 1
                   : row.delta > 0 && row.delta < 1);
  }
  return 0;
}
