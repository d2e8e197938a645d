// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/sha256_stream.h"
#include "ruvd/pattern/v1/pattern.pb.h"

// Exports of patterns: lines of JSON, docs/pattern-export.md has the format. The first says what
// the patterns are of, then one line for each, and the last how many they were and the SHA-256 of
// all before it, so that a file that was cut or altered is noticed. Nothing in it is encrypted.
namespace ruvd::cli {

inline constexpr int kPatternFileVersion = 1;

struct PatternFileHeader {
  std::string model_package;  // id, 64 hexadecimal digits
  std::string model_name;     // for people
  uint32_t dimension = 0;
  std::string node_id;  // that wrote the file, 64 hexadecimal digits
  int64_t exported_ms = 0;
  bool without_adapters = false;  // they were left out, whether or not there were any
};

// Writes a file piece by piece. Not thread-safe.
class PatternFileWriter {
 public:
  using Sink = std::function<absl::Status(std::string_view bytes)>;
  explicit PatternFileWriter(Sink sink) : sink_(std::move(sink)) {}

  // In this order; the errors are the sink's. Patterns have their embeddings, and their adapters
  // where they have one.
  absl::Status Begin(const PatternFileHeader& header);
  absl::Status Add(const pattern::v1::Pattern& pattern);
  absl::Status End();

  uint64_t patterns() const { return patterns_; }

 private:
  absl::Status WriteLine(const std::string& line);

  Sink sink_;
  Sha256Stream hash_;
  uint64_t patterns_ = 0;
};

// Reads a file from its beginning to its end, one line in memory. Every error is EXPORT_INVALID,
// names the line and says what is wrong with it. Not thread-safe.
class PatternFileReader {
 public:
  // Reads the first line. `in` outlives the reader.
  static absl::StatusOr<PatternFileReader> Open(std::istream& in);

  const PatternFileHeader& header() const { return header_; }

  // The next pattern: its id, tier, bank, numbers and lengths checked, its embedding finite, not
  // all zero and of the header's dimension. nullopt at the end, once the last line agreed and
  // nothing followed it.
  absl::StatusOr<std::optional<pattern::v1::Pattern>> Next();

  // The number of the line that was read last, from 1.
  uint64_t line() const { return line_; }

 private:
  explicit PatternFileReader(std::istream& in) : in_(&in) {}
  absl::StatusOr<std::string> ReadLine();
  // Whether there is another byte, at buffer_[at_]. An error where the file cannot be read.
  absl::StatusOr<bool> HasByte();
  absl::Status ReadHeader();
  absl::Status CheckEnd(uint64_t patterns, const std::string& sha256);

  std::istream* in_;
  std::string buffer_;
  size_t at_ = 0;
  PatternFileHeader header_;
  Sha256Stream hash_;  // of the lines before the present one
  uint64_t line_ = 0;
  uint64_t patterns_ = 0;
};

}  // namespace ruvd::cli
