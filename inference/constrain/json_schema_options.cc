// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/json_schema_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/status.h"
#include "inference/constrain/json_schema_node.h"
#include "inference/constrain/limits.h"

namespace ruvd::inference {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxHops = 8;  // from a $ref or allOf to the next one

// What is known about the values that fit a schema.
struct Outline {
  JsonTypes types = kAllTypes;
  // The values, if they are listed; those of nlohmann::json do not depend on the order of members.
  std::optional<std::set<nlohmann::json>> values;
};

// Follows $ref and single options to the schema that says something itself.
const Json* Followed(const Json& root, const Json* schema) {
  for (int hop = 0; hop < kMaxHops; ++hop) {
    if (const auto reference = schema->find("$ref"); reference != schema->end()) {
      const auto target = TargetOf(root, *reference, "");
      if (!target.ok()) {
        return schema;  // the compiler reports it
      }
      schema = target->schema;
    } else if (const auto all = schema->find("allOf");
               all != schema->end() && all->is_array() && all->size() == 1) {
      schema = &all->front();
    } else {
      return schema;
    }
  }
  return schema;
}

// Integers are numbers, so both are kNumberType here.
Outline OutlineOf(const Json& root, const Json& start, size_t* work) {
  ++*work;
  const Json& schema = *Followed(root, &start);
  Outline outline;
  const auto as_numbers = [](JsonTypes types) -> JsonTypes {
    return (types & kIntegerType) != 0 ? (types & ~kIntegerType) | kNumberType : types;
  };
  if (!schema.is_object()) {
    return outline;
  }
  if (const auto values = ValuesOf(schema, ""); values.ok() && values->has_value()) {
    outline.types = 0;
    outline.values.emplace();
    *work += (*values)->size();
    for (const Json& value : **values) {
      outline.types |= as_numbers(TypeOfValue(value));
      outline.values->insert(nlohmann::json(value));
    }
  } else if (const auto types = TypesOf(schema, "");
             types.ok() && schema.contains("type") && !schema.contains("$ref")) {
    outline.types = as_numbers(*types);
  }
  return outline;
}

bool Differ(const Outline& a, const Outline& b, size_t* work) {
  *work += a.values.has_value() ? a.values->size() : 1;
  if ((a.types & b.types) == 0) {
    return true;
  }
  return a.values.has_value() && b.values.has_value() &&
         std::ranges::none_of(
             *a.values, [&](const nlohmann::json& value) { return b.values->contains(value); });
}

// An option and the members that it requires.
struct Option {
  Outline outline;
  bool is_object = false;  // whether only objects are written for it
  std::map<std::string, Outline> required;
};

Option OptionOf(const Json& root, const Json& start, size_t* work) {
  Option option = {.outline = OutlineOf(root, start, work), .required = {}};
  const Json& schema = *Followed(root, &start);
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) {
    return option;
  }
  const auto types = TypesOf(schema, "");
  const auto names = RequiredNamesOf(schema, "");
  if (!types.ok() || !names.ok()) {
    return option;  // the compiler reports it
  }
  option.is_object = *types == kObjectType;
  for (const std::string& name : *names) {
    *work += properties->size();  // they are searched one by one
    if (*work > limits::kMaxOptionWork) {
      return option;
    }
    if (const auto property = properties->find(name); property != properties->end()) {
      option.required.emplace(name, OutlineOf(root, *property, work));
    }
  }
  return option;
}

bool Differ(const Option& a, const Option& b, size_t* work) {
  if (Differ(a.outline, b.outline, work)) {
    return true;
  }
  return a.is_object && b.is_object && std::ranges::any_of(a.required, [&](const auto& member) {
           const auto other = b.required.find(member.first);
           return other != b.required.end() && Differ(member.second, other->second, work);
         });
}

}  // namespace

absl::Status CheckOptionsDiffer(const Json& root, const Json& options, const std::string& pointer,
                                size_t* work) {
  std::vector<Option> known;
  for (const Json& option : options) {
    known.push_back(OptionOf(root, option, work));
    for (size_t i = 0; i + 1 < known.size() && *work <= limits::kMaxOptionWork; ++i) {
      if (!Differ(known[i], known.back(), work)) {
        return SchemaError(
            pointer, "uses oneOf",
            fmt::format(", but the options {} and {} (from 0) may allow the same value; use anyOf, "
                        "or require a property with a different const in each option",
                        i, known.size() - 1));
      }
    }
    if (*work > limits::kMaxOptionWork) {
      return SchemaError(pointer, "uses oneOf",
                         ", but it takes too long to show that its options differ; use anyOf, or "
                         "fewer and smaller options");
    }
  }
  return absl::OkStatus();
}

}  // namespace ruvd::inference
