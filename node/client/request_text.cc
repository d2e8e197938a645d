// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/client/request_text.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "base/utf8.h"

namespace ruvd::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

absl::Status CheckText(const std::string& name, std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Char next = FirstUtf8Char(text.substr(at));
    if (next.state != Utf8Char::State::kValid) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "the {} is not UTF-8: byte {} is 0x{:02X}; convert it, for example with `iconv "
                   "-f LATIN1 -t UTF-8`",
                   name, at, static_cast<uint8_t>(text[at]));
    }
    at += next.length;
  }
  return absl::OkStatus();
}

absl::Status CheckField(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  const int count = repeated ? reflection.FieldSize(message, &field) : 1;
  for (int i = 0; i < count; ++i) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      RETURN_IF_ERROR(CheckRequestTexts(repeated ? reflection.GetRepeatedMessage(message, &field, i)
                                                 : reflection.GetMessage(message, &field)));
    } else if (field.type() == FieldDescriptor::TYPE_STRING) {
      RETURN_IF_ERROR(CheckText(field.name(), repeated
                                                  ? reflection.GetRepeatedString(message, &field, i)
                                                  : reflection.GetString(message, &field)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRequestTexts(const Message& request) {
  std::vector<const FieldDescriptor*> fields;
  request.GetReflection()->ListFields(request, &fields);  // lists only the fields that are set
  for (const FieldDescriptor* field : fields) {
    RETURN_IF_ERROR(CheckField(request, *field));
  }
  return absl::OkStatus();
}

}  // namespace ruvd::client
