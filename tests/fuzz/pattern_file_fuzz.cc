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
  ruvd::pattern::v1::PatternFileHeader header;
  std::vector<ruvd::pattern::v1::PatternFileLine> patterns;
};

bool Read(const std::string& bytes, File* file) {
  std::istringstream in(bytes);
  auto reader = PatternFileReader::Open(in);
  if (!reader.ok()) {
    return false;
  }
  file->header = reader->header();
  for (;;) {
    const auto line = reader->Next();
    if (!line.ok() || !*line) {
      return line.ok();
    }
    file->patterns.push_back(**line);
  }
}

std::string Write(const File& file) {
  std::string bytes;
  PatternFileWriter writer([&bytes](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
  RUVD_CHECK(writer.Begin(file.header).ok());
  for (const auto& line : file.patterns) {
    RUVD_CHECK(writer.Add(line.pattern(), line.adapter()).ok());
  }
  RUVD_CHECK(writer.End().ok());
  return bytes;
}

void ReadAndCompare(const std::string& bytes) {
  File file;
  if (!Read(bytes, &file)) {
    return;
  }
  // Protobuf writes -0 without a fraction and reads that as 0, so what was read from any other
  // spelling is written twice before the bytes are compared.
  File again;
  RUVD_CHECK(Read(Write(file), &again));
  RUVD_CHECK(again.patterns.size() == file.patterns.size());
  const std::string written = Write(again);
  File same;
  RUVD_CHECK(Read(written, &same));
  RUVD_CHECK(Write(same) == written);
}

// Uses the bytes as the lines of patterns of a whole file.
std::string Between(const std::string& lines) {
  File empty;
  empty.header.set_model_package(std::string(64, 'a'));
  empty.header.set_model_name("fuzz");
  empty.header.set_dimension(kDimension);
  empty.header.set_node_id(std::string(64, 'b'));
  empty.header.mutable_export_time()->set_seconds(1);
  const std::string whole = Write(empty);
  const std::string before = whole.substr(0, whole.find('\n') + 1) + lines + "\n";
  const auto count = std::count(lines.begin(), lines.end(), '\n') + 1;
  return before + "{\"end\":{\"patterns\":" + std::to_string(count) + ",\"sha256\":\"" +
         ruvd::ToHex(ruvd::Sha256(before)) + "\"}}\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(ruvd::AsText({data, size}));
  ReadAndCompare(bytes);
  ReadAndCompare(Between(bytes));
  return 0;
}
