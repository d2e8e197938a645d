// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/pattern_file.h"

#include <fmt/format.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "node/api_limits.h"
#include "node/limits.h"
#include "node/reasons.h"
#include "node/terminal/output.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::cli {
namespace {

using google::protobuf::util::JsonParseOptions;
using google::protobuf::util::TimeUtil;
using pattern::v1::Pattern;
using pattern::v1::PatternFileEnd;
using pattern::v1::PatternFileHeader;
using pattern::v1::PatternFileLine;

constexpr size_t kPatternIdBytes = 16;
constexpr size_t kReadBytes = 64 << 10;
constexpr size_t kShownBytes = 128;  // of protobuf's error, which may quote much of the line

template <typename... Args>
absl::Status Wrong(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, "", format, std::forward<Args>(args)...);
}

// The memory that this takes is bounded by a multiple of the size of the text.
absl::StatusOr<PatternFileLine> Parse(const std::string& text,
                                      const JsonParseOptions& options = {}) {
  PatternFileLine line;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &line, options);
  if (!status.ok()) {
    // Further lines of the message show the place in the text.
    const std::string message(status.message());
    return Wrong("this is not protobuf JSON of a PatternFileLine: {}",
                 message.substr(0, std::min(message.find('\n'), kShownBytes)));
  }
  return line;
}

// Clears what is true only on the node that has the pattern.
void ClearLocalFields(Pattern* pattern) {
  pattern->clear_adapter_name();
  pattern->clear_adapter_version();
  pattern->clear_dimension();
  pattern->clear_adapter_bytes();
  pattern->clear_last_use_time();
  pattern->clear_standing();
}

// Turns the digits into lower case.
absl::Status CheckHex(std::string_view field, size_t bytes, std::string* text) {
  const std::optional<std::string> decoded = FromHex(*text);
  if (!decoded || decoded->size() != bytes) {
    return Wrong("\"{}\" is not {} hexadecimal digits", field, 2 * bytes);
  }
  *text = ToHex(AsBytes(*decoded));
  return absl::OkStatus();
}

absl::Status CheckEmbedding(const pattern::v1::Embedding& embedding, uint32_t dimension) {
  const auto& values = embedding.values();
  if (static_cast<uint32_t>(values.size()) != dimension) {
    return Wrong("\"embedding\" has {} values, but the first line says {}", values.size(),
                 dimension);
  }
  if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
    return Wrong("\"embedding\" has a value that is not finite");
  }
  if (std::ranges::all_of(values, [](float value) { return value == 0; })) {
    return Wrong("\"embedding\" is all zero, so it has no similarity to anything");
  }
  return absl::OkStatus();
}

absl::Status CheckTime(std::string_view field, const google::protobuf::Timestamp& time) {
  return time.seconds() < 0
             ? Wrong("\"{}\" is {}, but must not be before 1970", field, TimeUtil::ToString(time))
             : absl::OkStatus();
}

absl::Status CheckNumbers(const Pattern& pattern) {
  if (pattern.bank() >= limits::kPatternBanks) {
    return Wrong("\"bank\" is {}, but must be from 0 to {}", pattern.bank(),
                 limits::kPatternBanks - 1);
  }
  if (!(pattern.quality() >= 0 && pattern.quality() <= 1)) {
    return Wrong("\"quality\" is {}, but must be from 0 to 1", pattern.quality());
  }
  RETURN_IF_ERROR(CheckTime("create_time", pattern.create_time()));
  RETURN_IF_ERROR(CheckTime("update_time", pattern.update_time()));
  return CheckTime("expire_time", pattern.expire_time());
}

absl::Status CheckPattern(uint32_t dimension, std::string_view adapter, Pattern* pattern) {
  RETURN_IF_ERROR(CheckHex("id", kPatternIdBytes, pattern->mutable_id()));
  RETURN_IF_ERROR(CheckHex("origin", sizeof(Digest), pattern->mutable_origin()));
  if (pattern->tier() != privacy::v1::SHARING_TIER_PRIVATE &&
      pattern->tier() != privacy::v1::SHARING_TIER_PUBLIC) {
    return Wrong(
        "\"tier\" is not SHARING_TIER_PRIVATE or SHARING_TIER_PUBLIC; nodes of this version store "
        "no other");
  }
  RETURN_IF_ERROR(CheckNumbers(*pattern));
  RETURN_IF_ERROR(CheckEmbedding(pattern->embedding(), dimension));
  if (pattern->task().size() > limits::kMaxPatternTaskBytes ||
      adapter.size() > limits::kMaxPatternAdapterBytes) {
    return Wrong("\"task\" has {} bytes and \"adapter\" {}; the limits are {} and {}",
                 pattern->task().size(), adapter.size(), limits::kMaxPatternTaskBytes,
                 limits::kMaxPatternAdapterBytes);
  }
  return absl::OkStatus();
}

absl::Status CheckHeader(PatternFileHeader* header) {
  RETURN_IF_ERROR(CheckHex("model_package", sizeof(Digest), header->mutable_model_package()));
  RETURN_IF_ERROR(CheckHex("node_id", sizeof(Digest), header->mutable_node_id()));
  if (header->dimension() < 1 || header->dimension() > limits::kMaxEmbeddingDimension) {
    return Wrong("\"dimension\" is {}, but must be from 1 to {}", header->dimension(),
                 limits::kMaxEmbeddingDimension);
  }
  return CheckTime("export_time", header->export_time());
}

// Turns the error of a line into the error of its file.
absl::Status InLine(uint64_t line, const absl::Status& status) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kExportInvalid,
               "line {}: {}; take another copy of the file or export the patterns again", line,
               MessageOf(status));
}

}  // namespace

absl::Status PatternFileWriter::WriteLine(const PatternFileLine& line) {
  const std::string text = ToJsonLine(line);
  hash_.Add(text);
  return sink_(text);
}

absl::Status PatternFileWriter::Begin(const PatternFileHeader& header) {
  PatternFileLine line;
  *line.mutable_header() = header;
  line.mutable_header()->set_version(kPatternFileVersion);
  return WriteLine(line);
}

absl::Status PatternFileWriter::Add(const Pattern& pattern, std::string_view adapter) {
  PatternFileLine line;
  *line.mutable_pattern() = pattern;
  if (!adapter.empty()) {
    line.set_adapter(std::string(adapter));
  }
  ClearLocalFields(line.mutable_pattern());
  ++patterns_;
  return WriteLine(line);
}

absl::Status PatternFileWriter::End() {
  PatternFileLine line;
  line.mutable_end()->set_patterns(patterns_);
  line.mutable_end()->set_sha256(ToHex(hash_.Current()));
  return WriteLine(line);
}

absl::StatusOr<PatternFileReader> PatternFileReader::Open(std::istream& in) {
  PatternFileReader reader(in);
  if (const absl::Status status = reader.ReadHeader(); !status.ok()) {
    return InLine(1, status);
  }
  return reader;
}

// This uses istream::read, which turns the exceptions of a file buffer (an unreadable disk, a
// folder) into a state; reading from the buffer directly would throw them.
absl::StatusOr<bool> PatternFileReader::HasByte() {
  if (at_ < buffer_.size()) {
    return true;
  }
  buffer_.resize(kReadBytes);
  at_ = 0;
  in_->read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_.resize(static_cast<size_t>(in_->gcount()));
  if (in_->bad()) {
    return Wrong("the file cannot be read here; check the disk, and that this is a regular file");
  }
  return !buffer_.empty();
}

// Returns the next line without its line feed.
absl::StatusOr<std::string> PatternFileReader::ReadLine() {
  ++line_;
  std::string line;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, HasByte());
    if (!more) {
      break;
    }
    const size_t end = std::min(buffer_.find('\n', at_), buffer_.size());
    if (line.size() + (end - at_) > limits::kMaxExportLineBytes) {
      return Wrong("the line has more than {} bytes", limits::kMaxExportLineBytes);
    }
    line.append(buffer_, at_, end - at_);
    at_ = end;
    if (at_ < buffer_.size()) {
      ++at_;  // the line feed
      return line;
    }
  }
  return line.empty() ? Wrong("the line is missing: the file ends before its last line")
                      : Wrong("the file ends inside this line");
}

absl::Status PatternFileReader::ReadHeader() {
  const absl::StatusOr<std::string> text = ReadLine();
  if (in_->bad()) {
    return text.status();
  }
  // Another version may have other fields, so the version is read without them.
  JsonParseOptions any_version;
  any_version.ignore_unknown_fields = true;
  const auto any = text.ok() ? Parse(*text, any_version) : text.status();
  if (!any.ok() || any->header().version() == 0) {
    return Wrong(
        "this is not a file of `ruvd pattern export`, or it was cut off here: the header with a "
        "version is missing");
  }
  if (any->header().version() != kPatternFileVersion) {
    return Wrong("the file has version {}, but this ruvd reads version {}: use a newer ruvd",
                 any->header().version(), kPatternFileVersion);
  }
  ASSIGN_OR_RETURN(const PatternFileLine line, Parse(*text));
  header_ = line.header();
  RETURN_IF_ERROR(CheckHeader(&header_));
  hash_.Add(*text);
  hash_.Add("\n");
  return absl::OkStatus();
}

absl::Status PatternFileReader::CheckEnd(PatternFileEnd end) {
  RETURN_IF_ERROR(CheckHex("sha256", sizeof(Digest), end.mutable_sha256()));
  if (end.patterns() != patterns_) {
    return Wrong("the file has {} patterns, but its last line counts {}", patterns_,
                 end.patterns());
  }
  if (end.sha256() != ToHex(hash_.Current())) {
    return Wrong("the SHA-256 of the lines before does not match: the file was altered");
  }
  ASSIGN_OR_RETURN(const bool more, HasByte());
  if (more) {
    return Wrong("there is more data after the last line");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<PatternFileLine>> PatternFileReader::Next() {
  const auto next = [this]() -> absl::StatusOr<std::optional<PatternFileLine>> {
    ASSIGN_OR_RETURN(const std::string text, ReadLine());
    ASSIGN_OR_RETURN(PatternFileLine line, Parse(text));
    if (line.has_end()) {
      RETURN_IF_ERROR(CheckEnd(line.end()));
      return std::nullopt;
    }
    if (!line.has_pattern()) {
      return Wrong("the line has neither \"pattern\" nor \"end\"");
    }
    RETURN_IF_ERROR(CheckPattern(header_.dimension(), line.adapter(), line.mutable_pattern()));
    ClearLocalFields(line.mutable_pattern());
    hash_.Add(text);
    hash_.Add("\n");
    ++patterns_;
    return line;
  };
  absl::StatusOr<std::optional<PatternFileLine>> result = next();
  if (!result.ok()) {
    return InLine(line_, result.status());
  }
  return result;
}

}  // namespace ruvd::cli
