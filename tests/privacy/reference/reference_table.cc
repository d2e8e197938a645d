// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/privacy/reference/reference_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/limits.h"

namespace ruvd::privacy::dp {
namespace {

enum Column : size_t { kMethod, kQ, kSigma, kSteps, kDelta, kOrder, kExpected, kTolerance };
constexpr size_t kColumns = 8;
constexpr std::array<std::string_view, kColumns> kNames = {
    "method", "q", "sigma", "steps", "delta", "order", "expected", "tolerance"};
constexpr char kHeader[] = "method,q,sigma,steps,delta,order,expected,tolerance";

struct NamedMethod {
  std::string_view name;
  Method method;
};
constexpr std::array<NamedMethod, 5> kMethods = {{{"rdp", Method::kRdp},
                                                  {"rdp_integer", Method::kRdpInteger},
                                                  {"pld", Method::kPld},
                                                  {"analytic_sigma", Method::kAnalyticSigma},
                                                  {"rdp_at_order", Method::kRdpAtOrder}}};

template <typename... Args>
absl::Status BadLine(size_t line, fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "line {}: {}", line,
               fmt::format(format, std::forward<Args>(args)...));
}

std::string_view Trim(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_space(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

std::vector<std::string_view> Cells(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const size_t comma = line.find(',');
    cells.push_back(Trim(line.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return cells;
    }
    line.remove_prefix(comma + 1);
  }
}

// The position of each column in a line.
using Layout = std::array<size_t, kColumns>;

absl::StatusOr<Layout> ParseHeader(std::string_view line, size_t number) {
  const std::vector<std::string_view> cells = Cells(line);
  Layout layout{};
  for (size_t column = 0; column < kColumns; ++column) {
    const auto found = std::ranges::find(cells, kNames[column]);
    if (found == cells.end() || cells.size() != kColumns) {
      return BadLine(number, "this names no column {} or not {} columns; begin with \"{}\"",
                     kNames[column], kColumns, kHeader);
    }
    layout[column] = static_cast<size_t>(found - cells.begin());
  }
  return layout;
}

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

// Reads the cells of one line.
class RowReader {
 public:
  RowReader(const std::vector<std::string_view>& cells, const Layout& layout, size_t line)
      : cells_(&cells), layout_(&layout), line_(line) {}

  absl::StatusOr<Method> ReadMethod() const {
    for (const NamedMethod& known : kMethods) {
      if (Cell(kMethod) == known.name) {
        return known.method;
      }
    }
    return BadLine(line_,
                   "unknown method \"{}\"; write rdp, rdp_integer, pld, analytic_sigma or "
                   "rdp_at_order",
                   SanitizeForDisplay(Cell(kMethod)));
  }

  absl::StatusOr<double> ReadNumber(Column column) const {
    if (const auto number = ParseNumber(Cell(column))) {
      return *number;
    }
    return BadLine(line_, "{} is \"{}\"; write a finite number such as 0.01 or 1e-5",
                   kNames[column], SanitizeForDisplay(Cell(column)));
  }

  absl::StatusOr<uint64_t> ReadSteps() const {
    ASSIGN_OR_RETURN(const double steps, ReadNumber(kSteps));
    if (steps != std::floor(steps) || steps < 1 ||
        steps > static_cast<double>(limits::kMaxPrivacySteps)) {
      return BadLine(line_, "steps is \"{}\"; write a whole number from 1 to {}",
                     SanitizeForDisplay(Cell(kSteps)), limits::kMaxPrivacySteps);
    }
    return static_cast<uint64_t>(steps);
  }

 private:
  std::string_view Cell(Column column) const { return (*cells_)[(*layout_)[column]]; }

  const std::vector<std::string_view>* cells_;
  const Layout* layout_;
  size_t line_;
};

absl::Status ReadMechanism(const RowReader& reader, ReferenceRow& row) {
  ASSIGN_OR_RETURN(row.sigma, reader.ReadNumber(kSigma));
  if (row.method == Method::kAnalyticSigma) {
    return Annotate(CheckEpsilon(row.sigma),
                    fmt::format("line {}: column sigma, the target", row.line));
  }
  ASSIGN_OR_RETURN(row.q, reader.ReadNumber(kQ));
  ASSIGN_OR_RETURN(row.steps, reader.ReadSteps());
  return Annotate(CheckSampledGaussian({.q = row.q, .sigma = row.sigma, .steps = row.steps}),
                  fmt::format("line {}", row.line));
}

absl::Status ReadQuestion(const RowReader& reader, ReferenceRow& row) {
  if (row.method != Method::kRdpAtOrder) {
    ASSIGN_OR_RETURN(row.delta, reader.ReadNumber(kDelta));
    return Annotate(CheckDelta(row.delta), fmt::format("line {}", row.line));
  }
  ASSIGN_OR_RETURN(row.order, reader.ReadNumber(kOrder));
  if (!(row.order > 1 && row.order <= limits::kMaxRdpOrder)) {
    return BadLine(row.line, "order is {}; write a number above 1, at most {}", row.order,
                   limits::kMaxRdpOrder);
  }
  return absl::OkStatus();
}

absl::StatusOr<ReferenceRow> ParseRow(std::string_view line, const Layout& layout, size_t number) {
  const std::vector<std::string_view> cells = Cells(line);
  if (cells.size() != kColumns) {
    return BadLine(number, "{} cells instead of {}; write \"{}\", empty cells with their comma",
                   cells.size(), kColumns, kHeader);
  }
  const RowReader reader(cells, layout, number);
  ReferenceRow row{.line = number, .text = std::string(line)};
  ASSIGN_OR_RETURN(row.method, reader.ReadMethod());
  RETURN_IF_ERROR(ReadMechanism(reader, row));
  RETURN_IF_ERROR(ReadQuestion(reader, row));
  ASSIGN_OR_RETURN(row.expected, reader.ReadNumber(kExpected));
  ASSIGN_OR_RETURN(row.tolerance, reader.ReadNumber(kTolerance));
  if (row.tolerance < 0) {
    return BadLine(number, "tolerance is {}; write a relative one of 0 or more, such as 1e-8",
                   row.tolerance);
  }
  return row;
}

}  // namespace

absl::StatusOr<std::vector<ReferenceRow>> ParseReferenceTable(std::string_view text) {
  if (text.size() > kMaxTableBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "the table has {} bytes, above {}; split it", text.size(), kMaxTableBytes);
  }
  std::vector<ReferenceRow> rows;
  std::optional<Layout> layout;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') {
      continue;
    }
    if (!layout) {
      ASSIGN_OR_RETURN(layout, ParseHeader(line, number));
      continue;
    }
    if (rows.size() == kMaxTableRows) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                   "line {}: more than {} rows; split the table", number, kMaxTableRows);
    }
    ASSIGN_OR_RETURN(ReferenceRow row, ParseRow(line, *layout, number));
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "line 1: the table has no row; write \"{}\" and a row below", kHeader);
  }
  return rows;
}

}  // namespace ruvd::privacy::dp
