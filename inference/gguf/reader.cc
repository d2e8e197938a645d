// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/gguf/reader.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/gguf/format.h"
#include "inference/gguf/header_parser.h"

namespace ruvd::inference {
namespace {

using gguf::Value;

// Reads an integer of any width. Returns nullopt for unsigned 64-bit values above the signed range,
// for other types and at the end of the bytes.
std::optional<int64_t> ReadInteger(ByteReader* reader, uint32_t type) {
  switch (type) {
    case gguf::kUint8:
      return reader->Read<uint8_t>();
    case gguf::kInt8:
      return reader->Read<int8_t>();
    case gguf::kUint16:
      return reader->Read<uint16_t>();
    case gguf::kInt16:
      return reader->Read<int16_t>();
    case gguf::kUint32:
      return reader->Read<uint32_t>();
    case gguf::kInt32:
      return reader->Read<int32_t>();
    case gguf::kInt64:
      return reader->Read<int64_t>();
    case gguf::kUint64: {
      const auto value = reader->Read<uint64_t>();
      if (!value || *value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return std::nullopt;
      }
      return static_cast<int64_t>(*value);
    }
    default:
      return std::nullopt;
  }
}

std::optional<double> ReadFloating(ByteReader* reader, uint32_t type) {
  switch (type) {
    case gguf::kFloat32:
      return reader->Read<float>();
    case gguf::kFloat64:
      return reader->Read<double>();
    default:
      return std::nullopt;
  }
}

std::optional<std::string_view> ReadText(ByteReader* reader) {
  const auto length = reader->Read<uint64_t>();
  const auto bytes = length ? reader->ReadBytes(*length) : std::nullopt;
  if (!bytes) {
    return std::nullopt;
  }
  return AsText(*bytes);
}

constexpr size_t kShownKeyBytes = 128;

absl::Status WrongKind(std::string_view key, std::string_view wanted) {
  return Error(absl::StatusCode::kDataLoss, reasons::kModelCorrupt,
               "GGUF file: metadata key {} is not {}; convert the model again",
               SanitizeForDisplay(key, kShownKeyBytes), wanted);
}

}  // namespace

struct GgufReader::Contents {
  std::unique_ptr<MappedFile> file;  // null if the caller owns the bytes
  gguf::Header header;

  absl::StatusOr<const Value*> Get(std::string_view key, bool array,
                                   std::string_view wanted) const {
    const auto found = header.values.find(key);
    if (found == header.values.end()) {
      return Error(absl::StatusCode::kDataLoss, reasons::kModelCorrupt,
                   "GGUF file: required metadata key {} is missing; convert the model again",
                   SanitizeForDisplay(key, kShownKeyBytes));
    }
    if (found->second.is_array != array) {
      return WrongKind(key, wanted);
    }
    return &found->second;
  }
};

GgufReader::GgufReader(std::unique_ptr<const Contents> contents) : contents_(std::move(contents)) {}
GgufReader::~GgufReader() = default;

absl::StatusOr<std::unique_ptr<GgufReader>> GgufReader::Open(const std::string& path) {
  auto contents = std::make_unique<Contents>();
  ASSIGN_OR_RETURN(contents->file, MappedFile::Open(path));
  auto header = gguf::ParseHeader(contents->file->bytes());
  if (!header.ok()) {
    return Annotate(header.status(), path);
  }
  contents->header = *std::move(header);
  return std::unique_ptr<GgufReader>(new GgufReader(std::move(contents)));
}

absl::StatusOr<std::unique_ptr<GgufReader>> GgufReader::Parse(std::span<const uint8_t> bytes) {
  auto contents = std::make_unique<Contents>();
  ASSIGN_OR_RETURN(contents->header, gguf::ParseHeader(bytes));
  return std::unique_ptr<GgufReader>(new GgufReader(std::move(contents)));
}

const std::vector<TensorInfo>& GgufReader::tensors() const {
  return contents_->header.tensors;
}

const TensorInfo* GgufReader::Find(std::string_view name) const {
  const auto found = contents_->header.tensor_index.find(name);
  return found == contents_->header.tensor_index.end() ? nullptr : &tensors()[found->second];
}

std::span<const uint8_t> GgufReader::Data(const TensorInfo& tensor) const {
  return contents_->header.data.subspan(tensor.offset, tensor.bytes);
}

void GgufReader::ReleasePages(std::span<const uint8_t> bytes) const {
  if (contents_->file == nullptr) {
    return;
  }
  // Page numbers count from the start of the map, which is at a page boundary.
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const std::span<const uint8_t> all = contents_->file->bytes();
  const auto first = static_cast<size_t>(bytes.data() - all.data());
  const size_t begin = (first + page - 1) / page * page;
  const size_t end = (first + bytes.size()) / page * page;
  if (begin < end) {
    // If the system refuses, the pages stay in memory; that is not an error.
    (void)::madvise(const_cast<uint8_t*>(all.data()) + begin, end - begin, MADV_DONTNEED);
  }
}

void GgufReader::ReleaseAllPages() const {
  if (contents_->file != nullptr) {
    ReleasePages(contents_->file->bytes());
  }
}

const std::vector<std::string>& GgufReader::Keys() const {
  return contents_->header.keys;
}

const gguf::Value* GgufReader::RawValue(std::string_view key) const {
  const auto found = contents_->header.values.find(key);
  return found == contents_->header.values.end() ? nullptr : &found->second;
}

bool GgufReader::Has(std::string_view key) const {
  return contents_->header.values.contains(key);
}

absl::StatusOr<uint64_t> GgufReader::GetUnsigned(std::string_view key) const {
  constexpr char kWanted[] = "a non-negative integer";
  ASSIGN_OR_RETURN(const Value* value, contents_->Get(key, false, kWanted));
  ByteReader reader(value->bytes);
  const auto number = ReadInteger(&reader, value->type);
  if (!number || *number < 0) {
    return WrongKind(key, kWanted);
  }
  return static_cast<uint64_t>(*number);
}

absl::StatusOr<double> GgufReader::GetFloat(std::string_view key) const {
  constexpr char kWanted[] = "a finite number";
  ASSIGN_OR_RETURN(const Value* value, contents_->Get(key, false, kWanted));
  ByteReader reader(value->bytes);
  const auto number = ReadFloating(&reader, value->type);
  if (!number || !std::isfinite(*number)) {
    return WrongKind(key, kWanted);
  }
  return *number;
}

absl::StatusOr<bool> GgufReader::GetBool(std::string_view key) const {
  ASSIGN_OR_RETURN(const Value* value, contents_->Get(key, false, "true or false"));
  if (value->type != gguf::kBool) {
    return WrongKind(key, "true or false");
  }
  return value->bytes[0] != 0;
}

absl::StatusOr<std::string> GgufReader::GetString(std::string_view key) const {
  ASSIGN_OR_RETURN(const Value* value, contents_->Get(key, false, "a string"));
  ByteReader reader(value->bytes);
  const auto text = value->type == gguf::kString ? ReadText(&reader) : std::nullopt;
  if (!text) {
    return WrongKind(key, "a string");
  }
  return std::string(*text);
}

absl::StatusOr<std::vector<std::string_view>> GgufReader::GetStringViews(
    std::string_view key) const {
  constexpr char kWanted[] = "an array of strings";
  ASSIGN_OR_RETURN(const Value* value, contents_->Get(key, true, kWanted));
  if (value->type != gguf::kString) {
    return WrongKind(key, kWanted);
  }
  ByteReader reader(value->bytes);
  std::vector<std::string_view> out;
  out.reserve(value->count);
  for (uint64_t i = 0; i < value->count; ++i) {
    const auto text = ReadText(&reader);
    if (!text) {
      return WrongKind(key, kWanted);
    }
    out.push_back(*text);
  }
  return out;
}

absl::StatusOr<uint64_t> GgufReader::GetArrayLength(std::string_view key) const {
  ASSIGN_OR_RETURN(const Value* value, contents_->Get(key, true, "an array"));
  return value->count;
}

absl::StatusOr<std::vector<int64_t>> GgufReader::GetIntArray(std::string_view key) const {
  constexpr char kWanted[] = "an array of integers";
  ASSIGN_OR_RETURN(const Value* value, contents_->Get(key, true, kWanted));
  ByteReader reader(value->bytes);
  std::vector<int64_t> out;
  out.reserve(value->count);
  for (uint64_t i = 0; i < value->count; ++i) {
    const auto number = ReadInteger(&reader, value->type);
    if (!number) {
      return WrongKind(key, kWanted);
    }
    out.push_back(*number);
  }
  return out;
}

absl::StatusOr<std::vector<float>> GgufReader::GetFloatArray(std::string_view key) const {
  constexpr char kWanted[] = "an array of floating-point numbers";
  ASSIGN_OR_RETURN(const Value* value, contents_->Get(key, true, kWanted));
  ByteReader reader(value->bytes);
  std::vector<float> out;
  out.reserve(value->count);
  for (uint64_t i = 0; i < value->count; ++i) {
    const auto number = ReadFloating(&reader, value->type);
    if (!number) {
      return WrongKind(key, kWanted);
    }
    out.push_back(static_cast<float>(*number));
  }
  return out;
}

}  // namespace ruvd::inference
