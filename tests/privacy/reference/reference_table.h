// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

// Tables of the values that an accountant must give, as comma-separated text:
//
//   method,q,sigma,steps,delta,order,expected,tolerance
//
// The first line names the columns, in any order; lines that are empty or begin with # are skipped.
// A cell that a method does not use may hold anything.
namespace ruvd::privacy::dp {

enum class Method : uint8_t {
  kRdp,            // epsilon by FractionalOrders(), from q, sigma, steps and delta
  kRdpInteger,     // epsilon by IntegerOrders()
  kPld,            // epsilon by loss distributions on a grid of kPldInterval
  kAnalyticSigma,  // sigma of the Gaussian mechanism; its target epsilon stands in column sigma
  kRdpAtOrder,     // Renyi privacy of all steps at column order
};

struct ReferenceRow {
  size_t line = 0;  // from 1
  std::string text;
  Method method = Method::kRdp;
  double q = 1;
  double sigma = 1;
  uint64_t steps = 1;
  double delta = 0;
  double order = 0;
  double expected = 0;
  double tolerance = 0;  // relative
};

inline constexpr size_t kMaxTableBytes = size_t{1} << 20;
inline constexpr size_t kMaxTableRows = 10'000;

// Parses all rows of a table. INVALID_ARGUMENT names the first bad line and what to write there: an
// unknown column or method, a cell that is not a number or out of range. LIMIT_EXCEEDED means more
// than kMaxTableBytes or kMaxTableRows.
absl::StatusOr<std::vector<ReferenceRow>> ParseReferenceTable(std::string_view text);

// Returns what our accountants compute for a row.
absl::StatusOr<double> Compute(const ReferenceRow& row);

// Returns |got - expected| <= tolerance * |expected|; false if `got` is not a number.
bool Agrees(const ReferenceRow& row, double got);

}  // namespace ruvd::privacy::dp
