// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Compares a table of figures from other accountants, exact integration or publications with ours:
// dp_reference FILE.csv, columns as in reference_table.h. Prints each row that fails and then the
// counts. Exit code 0: none failed; 1: some failed; 2: the table cannot be read.

#include <fmt/format.h>

#include "base/file.h"
#include "base/status.h"
#include "tests/privacy/reference/reference_table.h"

namespace ruvd::privacy::dp {
namespace {

constexpr int kSomeFailed = 1;
constexpr int kUnreadable = 2;
constexpr char kUsage[] =
    "usage: dp_reference FILE.csv\n"
    "columns: method,q,sigma,steps,delta,order,expected,tolerance\n";

// Returns an empty text for a row that agrees.
std::string Complaint(const ReferenceRow& row) {
  const auto got = Compute(row);
  if (!got.ok()) {
    return fmt::format("line {}: {}: {}", row.line, row.text, MessageOf(got.status()));
  }
  if (Agrees(row, *got)) {
    return "";
  }
  return fmt::format("line {}: {}: got {:.12g}, expected {:.12g}, {:.2g} off with {:.2g} allowed",
                     row.line, row.text, *got, row.expected, *got / row.expected - 1,
                     row.tolerance);
}

int Run(const std::string& path) {
  const auto text = ReadFile(path, kMaxTableBytes);
  if (!text.ok()) {
    fmt::print(stderr, "{}\n", MessageOf(text.status()));
    return kUnreadable;
  }
  const auto rows = ParseReferenceTable(*text);
  if (!rows.ok()) {
    fmt::print(stderr, "{}: {}\n", path, MessageOf(rows.status()));
    return kUnreadable;
  }
  size_t failed = 0;
  for (const ReferenceRow& row : *rows) {
    if (const std::string complaint = Complaint(row); !complaint.empty()) {
      fmt::print("{}\n", complaint);
      ++failed;
    }
  }
  fmt::print("{} passed, {} failed\n", rows->size() - failed, failed);
  return failed == 0 ? 0 : kSomeFailed;
}

}  // namespace
}  // namespace ruvd::privacy::dp

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "{}", ruvd::privacy::dp::kUsage);
    return ruvd::privacy::dp::kUnreadable;
  }
  return ruvd::privacy::dp::Run(argv[1]);
}
