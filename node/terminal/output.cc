// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/terminal/output.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/utf8.h"

namespace ruvd::cli {
namespace {

using google::protobuf::Duration;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Timestamp;
using google::protobuf::util::TimeUtil;

// The bounds of what JSON can say of a duration (google/protobuf/duration.proto): ten thousand
// years
constexpr int64_t kMostSeconds = 315'576'000'000;
constexpr int32_t kMostNanos = 999'999'999;

// Brings a time or duration that no valid message has into range, because its text would not exist.
void MakeTimeValid(Message* message) {
  if (auto* time = google::protobuf::DynamicCastToGenerated<Timestamp>(message); time != nullptr) {
    time->set_seconds(std::clamp<int64_t>(time->seconds(), TimeUtil::kTimestampMinSeconds,
                                          TimeUtil::kTimestampMaxSeconds));
    time->set_nanos(std::clamp(time->nanos(), 0, kMostNanos));
  } else if (auto* length = google::protobuf::DynamicCastToGenerated<Duration>(message);
             length != nullptr) {
    length->set_seconds(std::clamp(length->seconds(), -kMostSeconds, kMostSeconds));
    const bool whole = std::abs(length->seconds()) == kMostSeconds;
    length->set_nanos(std::clamp(length->nanos(), whole || length->seconds() > 0 ? 0 : -kMostNanos,
                                 whole || length->seconds() < 0 ? 0 : kMostNanos));
  }
}

void MakeValid(Message* message);

void MakeFieldValid(const FieldDescriptor& field, Message* message) {
  const Reflection& reflection = *message->GetReflection();
  const int size = field.is_repeated() ? reflection.FieldSize(*message, &field) : 1;
  const bool text = field.type() == FieldDescriptor::TYPE_STRING;
  for (int i = 0; i < size; ++i) {
    if (text && field.is_repeated()) {
      reflection.SetRepeatedString(message, &field, i,
                                   ValidUtf8(reflection.GetRepeatedString(*message, &field, i)));
    } else if (text) {
      reflection.SetString(message, &field, ValidUtf8(reflection.GetString(*message, &field)));
    } else if (field.message_type() != nullptr) {
      MakeValid(field.is_repeated() ? reflection.MutableRepeatedMessage(message, &field, i)
                                    : reflection.MutableMessage(message, &field));
    }
  }
}

// Protobuf drops bytes that are not UTF-8 and complains on standard error.
void MakeValid(Message* message) {
  MakeTimeValid(message);
  std::vector<const FieldDescriptor*> fields;
  message->GetReflection()->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    MakeFieldValid(*field, message);
  }
}

}  // namespace

std::string ToJsonLine(const Message& message) {
  const std::unique_ptr<Message> valid(message.New());
  valid->CopyFrom(message);
  MakeValid(valid.get());
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  // Maps print in the order of their keys, because the bytes that are made here have that order;
  // the order of a map in memory is another one in every process.
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    RUVD_CHECK(valid->SerializePartialToCodedStream(&coded));
  }
  const google::protobuf::Descriptor& descriptor = *valid->GetDescriptor();
  const std::unique_ptr<google::protobuf::util::TypeResolver> types(
      google::protobuf::util::NewTypeResolverForDescriptorPool("type", descriptor.file()->pool()));
  std::string json;
  RUVD_CHECK(google::protobuf::util::BinaryToJsonString(
                 types.get(), "type/" + descriptor.full_name(), bytes, &json, options)
                 .ok());
  return json + "\n";
}

}  // namespace ruvd::cli
