// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/json_schema_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/constrain/limits.h"

namespace ruvd::inference {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kPointerBytes = 256;  // of a pointer in a message

struct Keyword {
  std::string_view name;
  KeywordKind kind;
};
constexpr Keyword kKeywords[] = {
    {"$comment", KeywordKind::kAnnotation},
    {"$defs", KeywordKind::kAnnotation},
    {"$id", KeywordKind::kAnnotation},
    {"$ref", KeywordKind::kSchemas},
    {"$schema", KeywordKind::kAnnotation},
    {"additionalProperties", KeywordKind::kObject},
    {"allOf", KeywordKind::kSchemas},
    {"anyOf", KeywordKind::kSchemas},
    {"const", KeywordKind::kValues},
    {"default", KeywordKind::kAnnotation},
    {"definitions", KeywordKind::kAnnotation},
    {"deprecated", KeywordKind::kAnnotation},
    {"description", KeywordKind::kAnnotation},
    {"enum", KeywordKind::kValues},
    {"examples", KeywordKind::kAnnotation},
    {"items", KeywordKind::kArray},
    {"maxItems", KeywordKind::kArray},
    {"maxLength", KeywordKind::kString},
    {"minItems", KeywordKind::kArray},
    {"minLength", KeywordKind::kString},
    {"minimum", KeywordKind::kNumber},
    {"oneOf", KeywordKind::kSchemas},
    {"prefixItems", KeywordKind::kArray},
    {"properties", KeywordKind::kObject},
    {"readOnly", KeywordKind::kAnnotation},
    {"required", KeywordKind::kObject},
    {"strict", KeywordKind::kAnnotation},
    {"title", KeywordKind::kAnnotation},
    {"type", KeywordKind::kType},
    {"writeOnly", KeywordKind::kAnnotation},
};

struct NamedType {
  std::string_view name;
  JsonTypes type;
};
constexpr NamedType kTypes[] = {
    {"null", kNullType},     {"boolean", kBooleanType}, {"object", kObjectType},
    {"array", kArrayType},   {"string", kStringType},   {"integer", kIntegerType},
    {"number", kNumberType},
};

// The types that a keyword speaks of; 0 for keywords that do not speak of single types.
JsonTypes TypesOfKind(KeywordKind kind) {
  switch (kind) {
    case KeywordKind::kObject:
      return kObjectType;
    case KeywordKind::kArray:
      return kArrayType;
    case KeywordKind::kString:
      return kStringType;
    case KeywordKind::kNumber:
      return kNumberType | kIntegerType;
    case KeywordKind::kAnnotation:
    case KeywordKind::kType:
    case KeywordKind::kValues:
    case KeywordKind::kSchemas:
      return 0;
  }
  return 0;
}

absl::StatusOr<JsonTypes> TypeNamed(const Json& name, const std::string& pointer) {
  const auto* text = name.get_ptr<const std::string*>();
  const auto* found =
      text == nullptr ? std::end(kTypes) : std::ranges::find(kTypes, *text, &NamedType::name);
  if (found == std::end(kTypes)) {
    return SchemaError(pointer, "has a type that JSON Schema does not know",
                       "; use null, boolean, object, array, string, integer or number");
  }
  return found->type;
}

// Checks that a keyword which says all about a value does not share its schema with another one.
absl::Status CheckCompany(const Json& schema, const std::string& pointer) {
  std::string_view whole;
  bool takes_type = false;
  for (const auto& [name, value] : schema.items()) {
    const KeywordKind kind = *KindOfKeyword(name);
    if (whole.empty() && (kind == KeywordKind::kValues || kind == KeywordKind::kSchemas)) {
      whole = std::ranges::find(kKeywords, name, &Keyword::name)->name;
      takes_type = kind == KeywordKind::kValues;
    }
  }
  for (const auto& [name, value] : schema.items()) {
    const KeywordKind kind = *KindOfKeyword(name);
    if (!whole.empty() && name != whole && kind != KeywordKind::kAnnotation &&
        !(takes_type && kind == KeywordKind::kType)) {
      return SchemaError(pointer, fmt::format("uses {} together with {}", whole, name),
                         ", which this node does not support; write all in one of them");
    }
  }
  return absl::OkStatus();
}

std::string_view NameOfKind(KeywordKind kind) {
  switch (kind) {
    case KeywordKind::kObject:
      return "objects";
    case KeywordKind::kArray:
      return "arrays";
    case KeywordKind::kString:
      return "strings";
    default:
      return "numbers";
  }
}

// Returns a reference's part after the last slash without the escapes ~0 and ~1, or nothing if it
// has others.
std::optional<std::string> UnescapedName(std::string_view text) {
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' || text[i] == '/') {
      return std::nullopt;
    }
    if (text[i] != '~') {
      name += text[i];
      continue;
    }
    ++i;
    if (i == text.size() || (text[i] != '0' && text[i] != '1')) {
      return std::nullopt;
    }
    name += text[i] == '0' ? '~' : '/';
  }
  return name;
}

}  // namespace

std::optional<KeywordKind> KindOfKeyword(std::string_view keyword) {
  const auto* found = std::ranges::lower_bound(kKeywords, keyword, {}, &Keyword::name);
  if (found == std::end(kKeywords) || found->name != keyword) {
    return std::nullopt;
  }
  return found->kind;
}

std::string PointerTo(std::string_view pointer, std::string_view name) {
  std::string out = std::string(pointer) + '/';
  for (const char c : name) {
    out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return out;
}

std::string PlaceOf(std::string_view pointer) {
  return pointer.empty() ? "at its top" : "at " + SanitizeForDisplay(pointer, kPointerBytes);
}

absl::Status SchemaError(std::string_view pointer, std::string_view what, std::string_view remedy) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "the schema {} {}{}",
               what, PlaceOf(pointer), remedy);
}

absl::Status CheckKeywords(const Json& schema, const std::string& pointer) {
  if (!schema.is_object()) {
    return SchemaError(pointer, "has a part that is no schema",
                       "; write an object, true or false there");
  }
  for (const auto& [name, value] : schema.items()) {
    if (!KindOfKeyword(name).has_value()) {
      return SchemaError(pointer, fmt::format("uses {}", SanitizeForDisplay(name)),
                         ", which this node does not support; leave it out");
    }
  }
  if (!pointer.empty() && schema.contains("$id")) {
    return SchemaError(pointer, "uses $id",
                       ", but this node supports it at the top only; leave it out");
  }
  RETURN_IF_ERROR(CheckCompany(schema, pointer));
  ASSIGN_OR_RETURN(const JsonTypes types, TypesOf(schema, pointer));
  for (const auto& [name, value] : schema.items()) {
    const KeywordKind kind = *KindOfKeyword(name);
    const JsonTypes spoken_of = TypesOfKind(kind);
    if (spoken_of != 0 && (types & spoken_of) == 0) {
      return SchemaError(pointer, fmt::format("uses {}", name),
                         fmt::format(", which speaks of {}, but its type allows none; leave it out "
                                     "or change the type",
                                     NameOfKind(kind)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<JsonTypes> TypesOf(const Json& schema, const std::string& pointer) {
  JsonTypes types = 0;
  const auto type = schema.find("type");
  if (type == schema.end()) {
    for (const auto& [name, value] : schema.items()) {
      const auto kind = KindOfKeyword(name);
      types |= kind.has_value() ? TypesOfKind(*kind) : JsonTypes{0};
    }
    return types == 0 ? kAllTypes : types;
  }
  if (!type->is_array()) {
    return TypeNamed(*type, pointer);
  }
  for (const Json& name : *type) {
    ASSIGN_OR_RETURN(const JsonTypes one, TypeNamed(name, pointer));
    types |= one;
  }
  if (types == 0) {
    return SchemaError(pointer, "has an empty list of types", "; name a type");
  }
  return types;
}

JsonTypes TypeOfValue(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return kNullType;
    case Json::value_t::boolean:
      return kBooleanType;
    case Json::value_t::object:
      return kObjectType;
    case Json::value_t::array:
      return kArrayType;
    case Json::value_t::string:
      return kStringType;
    case Json::value_t::number_float: {
      const auto number = value.get<double>();
      return number == std::floor(number) ? kIntegerType : kNumberType;
    }
    default:
      return kIntegerType;
  }
}

absl::StatusOr<std::optional<std::vector<Json>>> ValuesOf(const Json& schema,
                                                          const std::string& pointer) {
  std::vector<Json> values;
  if (const auto only = schema.find("const"); only != schema.end()) {
    values.push_back(*only);
  } else if (const auto all = schema.find("enum"); all != schema.end()) {
    if (!all->is_array() || all->empty()) {
      return SchemaError(pointer, "has an enum that is no list of values",
                         "; write a list with a value");
    }
    values.assign(all->begin(), all->end());
  } else {
    return std::optional<std::vector<Json>>();
  }
  ASSIGN_OR_RETURN(JsonTypes types, TypesOf(schema, pointer));
  types |= (types & kNumberType) != 0 ? kIntegerType : 0;
  std::erase_if(values, [&](const Json& value) { return (TypeOfValue(value) & types) == 0; });
  if (values.empty()) {
    return SchemaError(pointer,
                       "allows no value, because no value of its enum or const has its type",
                       "; change the type or the values");
  }
  return std::optional(std::move(values));
}

absl::StatusOr<int> CountOf(const Json& schema, const std::string& keyword, int otherwise,
                            const std::string& pointer) {
  const auto found = schema.find(keyword);
  if (found == schema.end()) {
    return otherwise;
  }
  const auto* count = found->get_ptr<const Json::number_unsigned_t*>();
  if (count == nullptr || *count > Json::number_unsigned_t{limits::kMaxRepetitions}) {
    return SchemaError(
        pointer, fmt::format("has a {} that this node does not support", keyword),
        fmt::format("; write an integer from 0 to {}, or leave it out", limits::kMaxRepetitions));
  }
  return static_cast<int>(*count);
}

absl::StatusOr<std::vector<std::string>> RequiredNamesOf(const Json& schema,
                                                         const std::string& pointer) {
  std::vector<std::string> names;
  const auto required = schema.find("required");
  if (required == schema.end()) {
    return names;
  }
  if (required->is_array()) {
    for (const Json& name : *required) {
      if (const auto* text = name.get_ptr<const std::string*>(); text != nullptr) {
        names.push_back(*text);
      }
    }
  }
  if (!required->is_array() || names.size() != required->size()) {
    return SchemaError(pointer, "has a required that is no list of names",
                       "; write a list of strings");
  }
  return names;
}

absl::StatusOr<SchemaTarget> TargetOf(const Json& root, const Json& reference,
                                      const std::string& pointer) {
  const auto* text = reference.get_ptr<const std::string*>();
  if (text != nullptr && *text == "#") {
    return SchemaTarget{.pointer = "", .schema = &root};
  }
  for (const std::string_view group : {"$defs", "definitions"}) {
    const std::string prefix = fmt::format("#/{}/", group);
    if (text == nullptr || !text->starts_with(prefix)) {
      continue;
    }
    const auto name = UnescapedName(std::string_view(*text).substr(prefix.size()));
    const auto schemas = root.find(group);
    if (!name.has_value() || schemas == root.end() || !schemas->is_object()) {
      break;
    }
    const auto target = schemas->find(*name);
    if (target == schemas->end()) {
      break;
    }
    return SchemaTarget{.pointer = text->substr(1), .schema = &*target};
  }
  return SchemaError(
      pointer,
      fmt::format("has the $ref {}, which names nothing that this node finds,",
                  text == nullptr ? "that is no string" : SanitizeForDisplay(*text)),
      "; refer to \"#\", \"#/$defs/NAME\" or \"#/definitions/NAME\", and define NAME at the top");
}

}  // namespace ruvd::inference
