// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/pattern_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/status.h"
#include "node/api_limits.h"
#include "node/cli/flat_json.h"
#include "node/cli/sharing_tier.h"
#include "node/limits.h"
#include "node/reasons.h"

namespace ruvd::cli {
namespace {

using pattern::v1::Pattern;

constexpr char kVersionKey[] = "ruvd_patterns";
constexpr char kCountKey[] = "patterns";
constexpr char kWithoutAdaptersKey[] = "without_adapters";
constexpr size_t kPatternIdBytes = 16;
constexpr size_t kReadBytes = 64 << 10;
constexpr int64_t kMaxUint32 = std::numeric_limits<uint32_t>::max();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

template <typename... Args>
absl::Status Wrong(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, "", format, std::forward<Args>(args)...);
}

absl::StatusOr<std::string> TakeHex(FlatJson* object, const std::string& key, size_t bytes) {
  ASSIGN_OR_RETURN(std::string text, object->TakeText(key));
  const std::optional<std::string> decoded = FromHex(text);
  if (!decoded || decoded->size() != bytes) {
    return Wrong("\"{}\" is not {} hexadecimal digits", key, 2 * bytes);
  }
  return ToHex(AsBytes(*decoded));
}

absl::StatusOr<std::string> TakeBase64(FlatJson* object, const std::string& key,
                                       const char* otherwise = nullptr) {
  ASSIGN_OR_RETURN(const std::string text, object->TakeText(key, otherwise));
  std::optional<std::string> bytes = FromBase64(text);
  if (!bytes) {
    return Wrong("\"{}\" is not base64 with padding", key);
  }
  return *std::move(bytes);
}

absl::Status TakeEmbedding(FlatJson* object, uint32_t dimension, Pattern* pattern) {
  ASSIGN_OR_RETURN(const std::string bytes, TakeBase64(object, "embedding"));
  if (bytes.size() != size_t{dimension} * sizeof(float)) {
    return Wrong("\"embedding\" has {} bytes, but the first line says {} values of 4 bytes",
                 bytes.size(), dimension);
  }
  std::vector<float> values(dimension);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  for (const float value : values) {
    if (!std::isfinite(value)) {
      return Wrong("\"embedding\" has a value that is not finite");
    }
  }
  if (std::ranges::all_of(values, [](float value) { return value == 0; })) {
    return Wrong("\"embedding\" is all zero, so it has no similarity to anything");
  }
  pattern->mutable_embedding()->mutable_values()->Assign(values.begin(), values.end());
  return absl::OkStatus();
}

absl::StatusOr<pattern::v1::SharingTier> TakeTier(FlatJson* object) {
  ASSIGN_OR_RETURN(const std::string name, object->TakeText("tier"));
  const std::optional<pattern::v1::SharingTier> tier = ParseTier(name);
  if (!tier) {
    return Wrong("\"tier\" is not private, masked, dp or public");
  }
  if (*tier != pattern::v1::SHARING_TIER_PRIVATE && *tier != pattern::v1::SHARING_TIER_PUBLIC) {
    return Wrong("\"tier\" is {}, which nodes of this version do not store; use private or public",
                 name);
  }
  return *tier;
}

absl::Status TakeNumbers(FlatJson* object, Pattern* pattern) {
  ASSIGN_OR_RETURN(const int64_t bank, object->TakeInteger("bank", 0, limits::kPatternBanks - 1));
  ASSIGN_OR_RETURN(const int64_t uses, object->TakeInteger("uses", 0, kMaxUint32));
  ASSIGN_OR_RETURN(const int64_t examples, object->TakeInteger("examples", 0, kMaxUint32));
  ASSIGN_OR_RETURN(const int64_t created_ms, object->TakeInteger("created_ms", 0, kMaxInt64));
  ASSIGN_OR_RETURN(const int64_t updated_ms, object->TakeInteger("updated_ms", 0, kMaxInt64));
  ASSIGN_OR_RETURN(const int64_t expires_ms, object->TakeInteger("expires_ms", 0, kMaxInt64));
  ASSIGN_OR_RETURN(const double quality, object->TakeNumber("quality"));
  if (!(quality >= 0 && quality <= 1)) {
    return Wrong("\"quality\" is {}, but must be from 0 to 1", quality);
  }
  pattern->set_bank(static_cast<uint32_t>(bank));
  pattern->set_uses(static_cast<uint32_t>(uses));
  pattern->set_examples(static_cast<uint32_t>(examples));
  pattern->set_created_ms(created_ms);
  pattern->set_updated_ms(updated_ms);
  pattern->set_expires_ms(expires_ms);
  pattern->set_quality(static_cast<float>(quality));
  return absl::OkStatus();
}

absl::StatusOr<Pattern> TakePattern(FlatJson* object, uint32_t dimension) {
  Pattern pattern;
  ASSIGN_OR_RETURN(*pattern.mutable_id(), TakeHex(object, "id", kPatternIdBytes));
  ASSIGN_OR_RETURN(*pattern.mutable_origin(), TakeHex(object, "origin", sizeof(Digest)));
  ASSIGN_OR_RETURN(*pattern.mutable_task(), object->TakeText("task"));
  ASSIGN_OR_RETURN(const pattern::v1::SharingTier tier, TakeTier(object));
  pattern.set_tier(tier);
  RETURN_IF_ERROR(TakeNumbers(object, &pattern));
  RETURN_IF_ERROR(TakeEmbedding(object, dimension, &pattern));
  ASSIGN_OR_RETURN(*pattern.mutable_adapter(), TakeBase64(object, "adapter", ""));
  if (pattern.task().size() > limits::kMaxPatternTaskBytes ||
      pattern.adapter().size() > limits::kMaxPatternAdapterBytes) {
    return Wrong("\"task\" has {} bytes and \"adapter\" {}; the limits are {} and {}",
                 pattern.task().size(), pattern.adapter().size(), limits::kMaxPatternTaskBytes,
                 limits::kMaxPatternAdapterBytes);
  }
  RETURN_IF_ERROR(object->CheckAllTaken());
  return pattern;
}

// Turns the error of a line into the error of its file.
absl::Status InLine(uint64_t line, const absl::Status& status) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kExportInvalid,
               "line {}: {}; take another copy of the file or export the patterns again", line,
               MessageOf(status));
}

std::string ToLine(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

absl::Status PatternFileWriter::WriteLine(const std::string& line) {
  hash_.Add(line);
  return sink_(line);
}

absl::Status PatternFileWriter::Begin(const PatternFileHeader& header) {
  nlohmann::ordered_json line = {
      {kVersionKey, kPatternFileVersion}, {"model_package", header.model_package},
      {"model_name", header.model_name},  {"dimension", header.dimension},
      {"node_id", header.node_id},        {"exported_ms", header.exported_ms}};
  if (header.without_adapters) {
    line[kWithoutAdaptersKey] = 1;
  }
  return WriteLine(ToLine(line));
}

absl::Status PatternFileWriter::Add(const Pattern& pattern) {
  const auto& values = pattern.embedding().values();
  const std::string_view embedding(reinterpret_cast<const char*>(values.data()),
                                   static_cast<size_t>(values.size()) * sizeof(float));
  nlohmann::ordered_json line = {{"id", pattern.id()},
                                 {"origin", pattern.origin()},
                                 {"task", pattern.task()},
                                 {"tier", TierLabel(pattern.tier())},
                                 {"bank", pattern.bank()},
                                 {"quality", pattern.quality()},
                                 {"uses", pattern.uses()},
                                 {"examples", pattern.examples()},
                                 {"created_ms", pattern.created_ms()},
                                 {"updated_ms", pattern.updated_ms()},
                                 {"expires_ms", pattern.expires_ms()},
                                 {"embedding", ToBase64(AsBytes(embedding))}};
  if (!pattern.adapter().empty()) {
    line["adapter"] = ToBase64(AsBytes(pattern.adapter()));
  }
  ++patterns_;
  return WriteLine(ToLine(line));
}

absl::Status PatternFileWriter::End() {
  return sink_(ToLine({{kCountKey, patterns_}, {"sha256", ToHex(hash_.Current())}}));
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
  const absl::StatusOr<std::string> line = ReadLine();
  if (in_->bad()) {
    return line.status();
  }
  absl::StatusOr<FlatJson> object = line.ok() ? FlatJson::Parse(*line) : line.status();
  if (!object.ok() || !object->Has(kVersionKey)) {
    return Wrong(
        "this is not a file of `ruvd pattern export`, or it was cut off here: \"{}\" is missing",
        kVersionKey);
  }
  ASSIGN_OR_RETURN(const int64_t version, object->TakeInteger(kVersionKey, 1, kMaxInt64));
  if (version != kPatternFileVersion) {
    return Wrong("the file has version {}, but this ruvd reads version {}: use a newer ruvd",
                 version, kPatternFileVersion);
  }
  ASSIGN_OR_RETURN(header_.model_package, TakeHex(&*object, "model_package", sizeof(Digest)));
  ASSIGN_OR_RETURN(header_.model_name, object->TakeText("model_name"));
  ASSIGN_OR_RETURN(const int64_t dimension,
                   object->TakeInteger("dimension", 1, limits::kMaxEmbeddingDimension));
  header_.dimension = static_cast<uint32_t>(dimension);
  ASSIGN_OR_RETURN(header_.node_id, TakeHex(&*object, "node_id", sizeof(Digest)));
  ASSIGN_OR_RETURN(header_.exported_ms, object->TakeInteger("exported_ms", 0, kMaxInt64));
  if (object->Has(kWithoutAdaptersKey)) {
    ASSIGN_OR_RETURN(const int64_t without, object->TakeInteger(kWithoutAdaptersKey, 0, 1));
    header_.without_adapters = without == 1;
  }
  RETURN_IF_ERROR(object->CheckAllTaken());
  hash_.Add(*line);
  hash_.Add("\n");
  return absl::OkStatus();
}

absl::Status PatternFileReader::CheckEnd(uint64_t patterns, const std::string& sha256) {
  if (patterns != patterns_) {
    return Wrong("the file has {} patterns, but its last line counts {}", patterns_, patterns);
  }
  if (sha256 != ToHex(hash_.Current())) {
    return Wrong("the SHA-256 of the lines before does not match: the file was altered");
  }
  ASSIGN_OR_RETURN(const bool more, HasByte());
  if (more) {
    return Wrong("there is more data after the last line");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Pattern>> PatternFileReader::Next() {
  const auto next = [this]() -> absl::StatusOr<std::optional<Pattern>> {
    ASSIGN_OR_RETURN(const std::string line, ReadLine());
    ASSIGN_OR_RETURN(FlatJson object, FlatJson::Parse(line));
    if (object.Has(kCountKey)) {
      ASSIGN_OR_RETURN(const int64_t count, object.TakeInteger(kCountKey, 0, kMaxInt64));
      ASSIGN_OR_RETURN(const std::string sha256, TakeHex(&object, "sha256", sizeof(Digest)));
      RETURN_IF_ERROR(object.CheckAllTaken());
      RETURN_IF_ERROR(CheckEnd(static_cast<uint64_t>(count), sha256));
      return std::nullopt;
    }
    ASSIGN_OR_RETURN(Pattern pattern, TakePattern(&object, header_.dimension));
    hash_.Add(line);
    hash_.Add("\n");
    ++patterns_;
    return pattern;
  };
  absl::StatusOr<std::optional<Pattern>> result = next();
  if (!result.ok()) {
    return InLine(line_, result.status());
  }
  return result;
}

}  // namespace ruvd::cli
