// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::inference {

// What one schema object says, read keyword by keyword. All functions are thread-safe. Errors are
// INVALID_ARGUMENT and name the JSON pointer of the schema.

// The types of JSON Schema as bits of a set.
using JsonTypes = uint8_t;
inline constexpr JsonTypes kNullType = 1;
inline constexpr JsonTypes kBooleanType = 2;
inline constexpr JsonTypes kObjectType = 4;
inline constexpr JsonTypes kArrayType = 8;
inline constexpr JsonTypes kStringType = 16;
inline constexpr JsonTypes kIntegerType = 32;
inline constexpr JsonTypes kNumberType = 64;  // also integers
inline constexpr JsonTypes kAllTypes =
    kNullType | kBooleanType | kObjectType | kArrayType | kStringType | kNumberType;

// What a keyword speaks of.
enum class KeywordKind : uint8_t {
  kAnnotation,  // nothing that holds values
  kType,
  kValues,   // all values: enum, const
  kSchemas,  // other schemas: $ref, anyOf, oneOf, allOf
  kObject,   // values of one type
  kArray,
  kString,
  kNumber,
};

// Returns what a keyword speaks of, or nothing if this node does not support it.
std::optional<KeywordKind> KindOfKeyword(std::string_view keyword);

// Returns the pointer to a member or element.
std::string PointerTo(std::string_view pointer, std::string_view name);
// Returns "at /a/b", or "at its top" for the empty pointer, in a form for messages.
std::string PlaceOf(std::string_view pointer);
// An error about a place: "the schema {what} at {pointer}{remedy}".
absl::Status SchemaError(std::string_view pointer, std::string_view what, std::string_view remedy);

// Checks that a schema is an object, that this node supports every keyword, that keywords which say
// all about a value stand alone, and that keywords of one type fit the schema's types.
absl::Status CheckKeywords(const nlohmann::ordered_json& schema, const std::string& pointer);

// Returns the types that a schema allows by `type`, or, without it, those that its keywords speak
// of, or all types if they speak of none.
absl::StatusOr<JsonTypes> TypesOf(const nlohmann::ordered_json& schema, const std::string& pointer);

// Returns the value of `const` or the values of `enum` that fit the schema's type; nothing if the
// schema has neither keyword.
absl::StatusOr<std::optional<std::vector<nlohmann::ordered_json>>> ValuesOf(
    const nlohmann::ordered_json& schema, const std::string& pointer);

// Returns the bit of a value's own type; that of 1.0 is kIntegerType, as JSON Schema has it.
JsonTypes TypeOfValue(const nlohmann::ordered_json& value);

// Returns the number that a keyword such as minItems gives, or `otherwise` where it is absent. It
// is an integer from 0 to limits::kMaxRepetitions.
absl::StatusOr<int> CountOf(const nlohmann::ordered_json& schema, const std::string& keyword,
                            int otherwise, const std::string& pointer);

// Returns the names that `required` lists, in their order.
absl::StatusOr<std::vector<std::string>> RequiredNamesOf(const nlohmann::ordered_json& schema,
                                                         const std::string& pointer);

// A schema that others refer to.
struct SchemaTarget {
  std::string pointer;  // "" for the whole schema
  const nlohmann::ordered_json* schema = nullptr;
};

// Returns what the `$ref` of the schema at `pointer` names in `root`: "#", "#/$defs/NAME" or
// "#/definitions/NAME".
absl::StatusOr<SchemaTarget> TargetOf(const nlohmann::ordered_json& root,
                                      const nlohmann::ordered_json& reference,
                                      const std::string& pointer);

}  // namespace ruvd::inference
