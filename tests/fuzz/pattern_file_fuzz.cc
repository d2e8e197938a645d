// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Exports of patterns: what is read can be written and read to the same value again. Files that end
// with a hash are seldom found by chance, so the bytes are also read as lines between a good first
// line and a good last one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "node/cli/pattern_file.h"

namespace {

using ruvd::cli::PatternFileReader;
using ruvd::cli::PatternFileWriter;

constexpr uint32_t kDimension = 2;

struct File {
  ruvd::cli::PatternFileHeader header;
  std::vector<ruvd::pattern::v1::Pattern> patterns;
};

bool Read(const std::string& bytes, File* file) {
  std::istringstream in(bytes);
  auto reader = PatternFileReader::Open(in);
  if (!reader.ok()) {
    return false;
  }
  file->header = reader->header();
  for (;;) {
    const auto pattern = reader->Next();
    if (!pattern.ok() || !*pattern) {
      return pattern.ok();
    }
    file->patterns.push_back(**pattern);
  }
}

std::string Write(const File& file) {
  std::string bytes;
  PatternFileWriter writer([&bytes](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
  RUVD_CHECK(writer.Begin(file.header).ok());
  for (const auto& pattern : file.patterns) {
    RUVD_CHECK(writer.Add(pattern).ok());
  }
  RUVD_CHECK(writer.End().ok());
  return bytes;
}

void ReadAndCompare(const std::string& bytes) {
  File file;
  if (!Read(bytes, &file)) {
    return;
  }
  File again;
  const std::string written = Write(file);
  RUVD_CHECK(Read(written, &again));
  RUVD_CHECK(again.patterns.size() == file.patterns.size());
  RUVD_CHECK(Write(again) == written);
}

// Uses the bytes as the lines of patterns of a whole file.
std::string Between(const std::string& lines) {
  File empty;
  empty.header = {.model_package = std::string(64, 'a'),
                  .model_name = "fuzz",
                  .dimension = kDimension,
                  .node_id = std::string(64, 'b'),
                  .exported_ms = 1};
  const std::string whole = Write(empty);
  const std::string before = whole.substr(0, whole.find('\n') + 1) + lines + "\n";
  const auto count = std::count(lines.begin(), lines.end(), '\n') + 1;
  return before + "{\"patterns\":" + std::to_string(count) + ",\"sha256\":\"" +
         ruvd::ToHex(ruvd::Sha256(before)) + "\"}\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(ruvd::AsText({data, size}));
  ReadAndCompare(bytes);
  ReadAndCompare(Between(bytes));
  return 0;
}
