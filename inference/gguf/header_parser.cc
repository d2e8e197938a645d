// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/gguf/header_parser.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/gguf/format.h"
#include "inference/gguf/limits.h"
#include "inference/gguf/quantize.h"

namespace ruvd::inference::gguf {
namespace {

constexpr char kAlignmentKey[] = "general.alignment";

template <typename... Args>
absl::Status Corrupt(fmt::format_string<Args...> format, Args&&... args) {
  const std::string fault = fmt::format(format, std::forward<Args>(args)...);
  return Error(absl::StatusCode::kDataLoss, reasons::kModelCorrupt,
               "GGUF file: {}; obtain the file again", fault);
}

class Parser {
 public:
  explicit Parser(std::span<const uint8_t> file) : file_(file), reader_(file) {}

  absl::StatusOr<Header> Parse() {
    ASSIGN_OR_RETURN(const Counts counts, ReadPreamble());
    for (uint64_t i = 0; i < counts.keys; ++i) {
      RETURN_IF_ERROR(ReadEntry(i));
    }
    ASSIGN_OR_RETURN(const uint64_t alignment, Alignment());
    for (uint64_t i = 0; i < counts.tensors; ++i) {
      RETURN_IF_ERROR(ReadTensor(i, alignment));
    }
    RETURN_IF_ERROR(PlaceData(alignment));
    return std::move(header_);
  }

 private:
  struct Counts {
    uint64_t tensors;
    uint64_t keys;
  };

  absl::StatusOr<Counts> ReadPreamble() {
    const auto magic = reader_.ReadArray<4>();
    if (!magic || *magic != kMagic) {
      return Corrupt("bad magic: the file does not begin with \"GGUF\"");
    }
    const auto version = reader_.Read<uint32_t>();
    if (!version) {
      return Corrupt("truncated: the file ends inside its preamble");
    }
    if (*version < kOldestVersion || *version > kVersionWritten) {
      const bool swapped = __builtin_bswap32(*version) <= kVersionWritten && *version != 0;
      return Error(absl::StatusCode::kUnimplemented, reasons::kModelUnsupported,
                   "GGUF file: unsupported version {}{}; convert it to version 3",
                   swapped ? __builtin_bswap32(*version) : *version,
                   swapped ? " in big-endian order" : "");
    }
    const auto tensors = reader_.Read<uint64_t>();
    const auto keys = reader_.Read<uint64_t>();
    if (reader_.failed()) {
      return Corrupt("truncated: the file ends inside its preamble");
    }
    if (*tensors > limits::kMaxGgufTensors) {
      return Corrupt("tensor count {} exceeds the limit of {}", *tensors, limits::kMaxGgufTensors);
    }
    if (*keys > limits::kMaxGgufKeys) {
      return Corrupt("metadata key count {} exceeds the limit of {}", *keys, limits::kMaxGgufKeys);
    }
    return Counts{.tensors = *tensors, .keys = *keys};
  }

  // Names what is being read, for error messages. The text is formatted only when an error occurs.
  struct Part {
    std::string_view what;
    std::string_view name;  // a name from the file; may be empty
    uint64_t index;

    std::string Text() const {
      return name.empty() ? fmt::format("{} {}", what, index)
                          : fmt::format("{} {}, string {}", what, SanitizeForDisplay(name), index);
    }
  };

  absl::StatusOr<std::string_view> ReadString(const Part& part, uint64_t limit) {
    const auto length = reader_.Read<uint64_t>();
    if (!length) {
      return Corrupt("truncated: the file ends in {}", part.Text());
    }
    if (*length > limit) {
      return Corrupt("string length {} of {} exceeds the limit of {}", *length, part.Text(), limit);
    }
    const auto bytes = reader_.ReadBytes(*length);
    if (!bytes) {
      return Corrupt("truncated: the file ends in {}", part.Text());
    }
    return AsText(*bytes);
  }

  absl::Status ReadEntry(uint64_t index) {
    ASSIGN_OR_RETURN(const std::string_view key,
                     ReadString({"the name of metadata key", "", index}, limits::kMaxGgufKeyBytes));
    const auto type = reader_.Read<uint32_t>();
    if (!type) {
      return Corrupt("truncated: the file ends in metadata key {}", SanitizeForDisplay(key));
    }
    Value value{.type = *type};
    if (*type == kArray) {
      value.is_array = true;
      const auto element = reader_.Read<uint32_t>();
      const auto count = reader_.Read<uint64_t>();
      if (reader_.failed()) {
        return Corrupt("truncated: the file ends in metadata key {}", SanitizeForDisplay(key));
      }
      value.type = *element;
      value.count = *count;
    }
    RETURN_IF_ERROR(ReadElements(key, &value));
    if (!header_.values.emplace(std::string(key), value).second) {
      return Corrupt("metadata key {} appears twice", SanitizeForDisplay(key));
    }
    header_.keys.emplace_back(key);
    return absl::OkStatus();
  }

  // Skips the elements of a value after checking that they are present, and remembers their bytes.
  absl::Status ReadElements(std::string_view key, Value* value) {
    if (value->count > limits::kMaxGgufArrayValues) {
      return Corrupt("array length {} of metadata key {} exceeds the limit of {}", value->count,
                     SanitizeForDisplay(key), limits::kMaxGgufArrayValues);
    }
    const size_t start = reader_.offset();
    if (value->type == kString) {
      for (uint64_t i = 0; i < value->count; ++i) {
        ASSIGN_OR_RETURN([[maybe_unused]] const std::string_view text,
                         ReadString({"metadata key", key, i}, limits::kMaxGgufStringBytes));
      }
    } else {
      const uint64_t size = FixedSize(value->type);
      if (size == 0) {
        return Corrupt("metadata key {} has the unknown value type {}", SanitizeForDisplay(key),
                       value->type);
      }
      if (!reader_.ReadBytes(value->count * size)) {
        return Corrupt("truncated: the file ends in metadata key {}", SanitizeForDisplay(key));
      }
    }
    value->bytes = file_.subspan(start, reader_.offset() - start);
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> Alignment() const {
    const auto found = header_.values.find(kAlignmentKey);
    if (found == header_.values.end()) {
      return limits::kDefaultGgufAlignment;
    }
    const Value& value = found->second;
    if (value.is_array || value.type != kUint32) {
      return Corrupt("{} is not a 32-bit unsigned integer", kAlignmentKey);
    }
    const uint32_t alignment = *ByteReader(value.bytes).Read<uint32_t>();
    if (!std::has_single_bit(alignment) || alignment > limits::kMaxGgufAlignment) {
      return Corrupt("alignment {} is not a power of two up to {}", alignment,
                     limits::kMaxGgufAlignment);
    }
    return alignment;
  }

  absl::Status ReadTensor(uint64_t index, uint64_t alignment) {
    ASSIGN_OR_RETURN(const std::string_view name,
                     ReadString({"the name of tensor", "", index}, limits::kMaxTensorNameBytes));
    TensorInfo info;
    info.name = std::string(name);
    RETURN_IF_ERROR(ReadShape(&info));
    const auto type = reader_.Read<uint32_t>();
    const auto offset = reader_.Read<uint64_t>();
    if (reader_.failed()) {
      return Corrupt("truncated: the file ends in the description of tensor {}",
                     SanitizeForDisplay(name));
    }
    const auto known = TensorTypeFromNumber(*type);
    if (!known) {
      return Error(absl::StatusCode::kUnimplemented, reasons::kModelUnsupported,
                   "GGUF file: tensor {} has the unknown type {}; convert it to Q8_0, Q4_0, F16 "
                   "or F32",
                   SanitizeForDisplay(name), *type);
    }
    info.type = *known;
    info.offset = *offset;
    if (info.offset % alignment != 0) {
      return Corrupt("offset {} of tensor {} is not a multiple of the alignment {}", *offset,
                     SanitizeForDisplay(name), alignment);
    }
    RETURN_IF_ERROR(SizeTensor(&info));
    if (!header_.tensor_index.emplace(info.name, header_.tensors.size()).second) {
      return Corrupt("tensor {} appears twice", SanitizeForDisplay(name));
    }
    header_.tensors.push_back(std::move(info));
    return absl::OkStatus();
  }

  absl::Status ReadShape(TensorInfo* info) {
    const auto dimensions = reader_.Read<uint32_t>();
    if (!dimensions) {
      return Corrupt("truncated: the file ends in the description of tensor {}",
                     SanitizeForDisplay(info->name));
    }
    if (*dimensions == 0 || *dimensions > limits::kMaxTensorDimensions) {
      return Corrupt("tensor {} has {} dimensions; the format allows 1 to {}",
                     SanitizeForDisplay(info->name), *dimensions, limits::kMaxTensorDimensions);
    }
    info->dimensions = *dimensions;
    for (uint32_t i = 0; i < *dimensions; ++i) {
      const auto extent = reader_.Read<uint64_t>();
      if (!extent) {
        return Corrupt("truncated: the file ends in the description of tensor {}",
                       SanitizeForDisplay(info->name));
      }
      if (*extent == 0) {
        return Corrupt("dimension {} of tensor {} is zero", i, SanitizeForDisplay(info->name));
      }
      info->shape.at(i) = *extent;
    }
    return absl::OkStatus();
  }

  // Sets info->bytes from shape and type, without overflow.
  absl::Status SizeTensor(TensorInfo* info) const {
    uint64_t values = 1;
    for (const uint64_t extent : info->shape) {
      if (__builtin_mul_overflow(values, extent, &values)) {
        return Corrupt("the dimensions of tensor {} overflow 64 bits",
                       SanitizeForDisplay(info->name));
      }
    }
    const uint64_t block = BlockValues(info->type);
    if (info->shape[0] % block != 0) {
      return Corrupt("rows of tensor {} have {} values, not a multiple of the {} of a {} block",
                     SanitizeForDisplay(info->name), info->shape[0], block,
                     TensorTypeName(info->type));
    }
    if (__builtin_mul_overflow(values / block, BlockBytes(info->type), &info->bytes)) {
      return Corrupt("the dimensions of tensor {} overflow 64 bits",
                     SanitizeForDisplay(info->name));
    }
    return absl::OkStatus();
  }

  // Finds the data section and checks that all tensors lie in it without overlap.
  absl::Status PlaceData(uint64_t alignment) {
    if (header_.tensors.empty()) {
      return absl::OkStatus();
    }
    const uint64_t start = AlignUp(reader_.offset(), alignment);
    if (start > file_.size()) {
      return Corrupt("truncated: the file ends before its data section");
    }
    header_.data = file_.subspan(start);
    std::vector<const TensorInfo*> order;
    for (const TensorInfo& info : header_.tensors) {
      if (info.offset > header_.data.size() || info.bytes > header_.data.size() - info.offset) {
        return Corrupt(
            "tensor {} at offset {} with {} bytes lies beyond the end of the file, whose data "
            "section has {} bytes",
            SanitizeForDisplay(info.name), info.offset, info.bytes, header_.data.size());
      }
      order.push_back(&info);
    }
    std::sort(order.begin(), order.end(),
              [](const TensorInfo* a, const TensorInfo* b) { return a->offset < b->offset; });
    for (size_t i = 1; i < order.size(); ++i) {
      if (order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes) {
        return Corrupt("tensors {} and {} overlap", SanitizeForDisplay(order[i - 1]->name),
                       SanitizeForDisplay(order[i]->name));
      }
    }
    return absl::OkStatus();
  }

  std::span<const uint8_t> file_;
  ByteReader reader_;
  Header header_;
};

}  // namespace

absl::StatusOr<Header> ParseHeader(std::span<const uint8_t> file) {
  return Parser(file).Parse();
}

}  // namespace ruvd::inference::gguf
