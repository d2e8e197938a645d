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
#include "ruvd/pattern/v1/pattern_file.pb.h"

// Exports of patterns: lines of protobuf JSON, each a PatternFileLine, in the format of
// docs/pattern-export.md. The first line names the model and the node, one line follows for each
// pattern, and the last line holds the number of patterns and the SHA-256 of all lines before it,
// so that a cut or altered file is noticed. Nothing in the file is encrypted.
namespace ruvd::cli {

inline constexpr uint32_t kPatternFileVersion = 1;

// Writes a file piece by piece. Not thread-safe.
class PatternFileWriter {
 public:
  using Sink = std::function<absl::Status(std::string_view bytes)>;
  explicit PatternFileWriter(Sink sink) : sink_(std::move(sink)) {}

  // Call these in this order; they return the errors of the sink. Begin sets the header's version.
  // Each pattern must carry its embedding; Add leaves out the fields that an export does not carry.
  // `adapter` has the bytes of its adapter, or nothing.
  absl::Status Begin(const pattern::v1::PatternFileHeader& header);
  absl::Status Add(const pattern::v1::Pattern& pattern, std::string_view adapter);
  absl::Status End();

  uint64_t patterns() const { return patterns_; }

 private:
  absl::Status WriteLine(const pattern::v1::PatternFileLine& line);

  Sink sink_;
  Sha256Stream hash_;
  uint64_t patterns_ = 0;
};

// Reads a file from its beginning to its end, with one line in memory at a time. Every error is
// EXPORT_INVALID, names the line and says what is wrong with it. Not thread-safe.
class PatternFileReader {
 public:
  // Reads the first line. `in` must outlive the reader.
  static absl::StatusOr<PatternFileReader> Open(std::istream& in);

  const pattern::v1::PatternFileHeader& header() const { return header_; }

  // Returns the next line with a pattern, and with its adapter if the file has one. Its id, tier,
  // bank, numbers and lengths are checked; its embedding is finite, not all zero and has the
  // header's dimension; fields that an export does not carry are not set. Returns nullopt at the
  // end, after the last line was checked and nothing follows it.
  absl::StatusOr<std::optional<pattern::v1::PatternFileLine>> Next();

  // Returns the number of the line that was read last, counted from 1.
  uint64_t line() const { return line_; }

 private:
  explicit PatternFileReader(std::istream& in) : in_(&in) {}
  absl::StatusOr<std::string> ReadLine();
  // Returns whether there is another byte, at buffer_[at_]. It returns an error if the file cannot
  // be read.
  absl::StatusOr<bool> HasByte();
  absl::Status ReadHeader();
  absl::Status CheckEnd(pattern::v1::PatternFileEnd end);

  std::istream* in_;
  std::string buffer_;
  size_t at_ = 0;
  pattern::v1::PatternFileHeader header_;
  Sha256Stream hash_;  // hash of the lines before the present one
  uint64_t line_ = 0;
  uint64_t patterns_ = 0;
};

}  // namespace ruvd::cli
