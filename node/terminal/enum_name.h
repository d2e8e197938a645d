// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/generated_enum_reflection.h>

#include <string>

namespace ruvd::cli {

// Returns the name of an enum's value without the prefix of its type, in lower case: "alive" for
// MEMBER_STATE_ALIVE. A value 0 whose name ends in UNSPECIFIED gives "", and a number without a
// name gives that number, because a newer node may send it.
std::string EnumName(const google::protobuf::EnumDescriptor& type, int number);

template <typename E>
std::string EnumName(const E& value) {
  return EnumName(*google::protobuf::GetEnumDescriptor<E>(), static_cast<int>(value));
}

}  // namespace ruvd::cli
