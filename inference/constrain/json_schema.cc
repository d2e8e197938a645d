// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/constrain/json_schema_node.h"
#include "inference/constrain/json_schema_options.h"
#include "inference/constrain/json_schema_text.h"
#include "inference/constrain/json_tokens.h"
#include "inference/constrain/limits.h"

namespace ruvd::inference {
namespace {

using Json = nlohmann::ordered_json;
using Expression = GrammarBuilder::Expression;
using ExpressionOr = absl::StatusOr<Expression>;

// Where a schema stands.
struct Place {
  std::string pointer;
  // Whether a value of the definition begins with a value of this schema.
  bool at_start = false;
};

Place Below(const Place& place, std::string_view keyword, std::string_view name) {
  return {.pointer = PointerTo(PointerTo(place.pointer, keyword), name), .at_start = false};
}

// Compiles one schema. Everything that $ref names is a rule, so that it is compiled once.
class SchemaCompiler {
 public:
  explicit SchemaCompiler(const Json& root) : root_(root), tokens_(&builder_) {}

  absl::StatusOr<std::shared_ptr<const Grammar>> Compile() {
    const Expression whole[] = {tokens_.Space(), builder_.Call(RuleOf({"", &root_}))};
    // Definitions add others to the end.
    for (size_t i = 0; i < definitions_.size(); ++i) {
      current_ = i;
      const SchemaTarget target = definitions_[i].target;
      ASSIGN_OR_RETURN(const Expression value, ValueOf(*target.schema, {target.pointer, true}));
      builder_.Define(definitions_[i].rule, value);
    }
    RETURN_IF_ERROR(CheckReferences());
    return builder_.Build(builder_.Sequence(whole));
  }

 private:
  // The whole schema, or a part that $ref names.
  struct Definition {
    SchemaTarget target;
    GrammarBuilder::Rule rule = 0;
    std::vector<size_t> begins_with;  // definitions whose values may begin one of this
  };

  GrammarBuilder::Rule RuleOf(const SchemaTarget& target);
  absl::Status CheckReferences() const;

  ExpressionOr ValueOf(const Json& schema, const Place& place);
  ExpressionOr ReferenceOf(const Json& reference, const Place& place);
  ExpressionOr OptionsOf(const Json& options, const std::string& keyword, const Place& place);
  ExpressionOr TypedValueOf(const Json& schema, const Place& place);
  Expression ListedValues(const std::vector<Json>& values);
  ExpressionOr ObjectOf(const Json& schema, const Place& place);
  ExpressionOr ArrayOf(const Json& schema, const Place& place);
  ExpressionOr StringOf(const Json& schema, const Place& place);
  ExpressionOr NumberOf(const Json& schema, const Place& place, bool is_integer);

  // Returns what additional properties hold; nothing if the schema allows no such properties.
  absl::StatusOr<std::optional<Expression>> AdditionalValueOf(const Json& schema,
                                                              const Place& place);
  // Adds the members that only `required` and `additionalProperties` allow.
  absl::Status AddUnnamedMembers(const Json& schema, const Place& place,
                                 const std::vector<std::string>& required,
                                 std::vector<std::string> names,
                                 std::vector<JsonTokens::Member>* members);

  const Json& root_;
  size_t option_work_ = 0;  // of all oneOf
  GrammarBuilder builder_;
  JsonTokens tokens_;
  std::vector<Definition> definitions_;
  std::map<const Json*, size_t> numbers_;  // of definitions
  size_t current_ = 0;                     // the definition that is being compiled
};

GrammarBuilder::Rule SchemaCompiler::RuleOf(const SchemaTarget& target) {
  const auto [found, is_new] = numbers_.emplace(target.schema, definitions_.size());
  if (is_new) {
    definitions_.push_back({.target = target, .rule = builder_.AddRule(), .begins_with = {}});
  }
  return definitions_[found->second].rule;
}

// Takes away definitions that begin with no other until none is left, or only circles. How many
// others a value begins with is limited too, because an automaton enters all of them before it
// reads a byte.
absl::Status SchemaCompiler::CheckReferences() const {
  std::vector<std::vector<size_t>> users(definitions_.size());
  std::vector<size_t> waiting_for(definitions_.size());
  std::vector<int> depth(definitions_.size());
  std::vector<size_t> ready;
  for (size_t i = 0; i < definitions_.size(); ++i) {
    waiting_for[i] = definitions_[i].begins_with.size();
    for (const size_t used : definitions_[i].begins_with) {
      users[used].push_back(i);
    }
    if (waiting_for[i] == 0) {
      ready.push_back(i);
    }
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    if (depth[ready[i]] > limits::kMaxConstraintDepth) {
      return SchemaError(definitions_[ready[i]].target.pointer, "has a chain of references",
                         fmt::format(" with more than {} of them; refer to the last one directly",
                                     limits::kMaxConstraintDepth));
    }
    for (const size_t user : users[ready[i]]) {
      depth[user] = std::max(depth[user], depth[ready[i]] + 1);
      if (--waiting_for[user] == 0) {
        ready.push_back(user);
      }
    }
  }
  const auto is_left = [&](size_t number) { return waiting_for[number] > 0; };
  const auto left = std::ranges::find_if(waiting_for, [](size_t count) { return count > 0; });
  if (left == waiting_for.end()) {
    return absl::OkStatus();
  }
  // What is left begins with something that is left, so many steps end in a circle.
  auto number = static_cast<size_t>(left - waiting_for.begin());
  for (size_t step = 0; step < definitions_.size(); ++step) {
    number = *std::ranges::find_if(definitions_[number].begins_with, is_left);
  }
  return SchemaError(definitions_[number].target.pointer, "has references in a circle",
                     ", so that a value would begin with itself; refer from a property or an item");
}

ExpressionOr SchemaCompiler::ValueOf(const Json& schema, const Place& place) {
  if (schema.is_boolean()) {
    if (schema.get<bool>()) {
      return tokens_.AnyValue();
    }
    return SchemaError(place.pointer, "allows no value, because it is false,",
                       "; leave out what it stands for");
  }
  RETURN_IF_ERROR(CheckKeywords(schema, place.pointer));
  if (const auto reference = schema.find("$ref"); reference != schema.end()) {
    return ReferenceOf(*reference, place);
  }
  for (const char* keyword : {"anyOf", "oneOf", "allOf"}) {
    if (const auto options = schema.find(keyword); options != schema.end()) {
      return OptionsOf(*options, keyword, place);
    }
  }
  ASSIGN_OR_RETURN(const auto values, ValuesOf(schema, place.pointer));
  return values.has_value() ? ListedValues(*values) : TypedValueOf(schema, place);
}

ExpressionOr SchemaCompiler::ReferenceOf(const Json& reference, const Place& place) {
  ASSIGN_OR_RETURN(const SchemaTarget target, TargetOf(root_, reference, place.pointer));
  const GrammarBuilder::Rule rule = RuleOf(target);
  if (place.at_start) {
    definitions_[current_].begins_with.push_back(numbers_[target.schema]);
  }
  return builder_.Call(rule);
}

ExpressionOr SchemaCompiler::OptionsOf(const Json& options, const std::string& keyword,
                                       const Place& place) {
  if (!options.is_array() || options.empty()) {
    return SchemaError(place.pointer, fmt::format("has an {} that is no list of schemas", keyword),
                       "; write a list with a schema");
  }
  if (options.size() > kMaxOptions) {
    return SchemaError(
        place.pointer, fmt::format("has {} options in {}", options.size(), keyword),
        fmt::format("; use at most {}, or an enum for a list of values", kMaxOptions));
  }
  if (keyword == "allOf" && options.size() > 1) {
    return SchemaError(place.pointer, "uses allOf with several schemas",
                       ", which this node does not support; merge them into one");
  }
  if (keyword == "oneOf") {
    RETURN_IF_ERROR(CheckOptionsDiffer(root_, options, place.pointer, &option_work_));
  }
  std::vector<Expression> compiled;
  for (size_t i = 0; i < options.size(); ++i) {
    Place below = Below(place, keyword, std::to_string(i));
    below.at_start = place.at_start;
    ASSIGN_OR_RETURN(const Expression option, ValueOf(options[i], below));
    compiled.push_back(option);
  }
  return builder_.Choice(compiled);
}

ExpressionOr SchemaCompiler::TypedValueOf(const Json& schema, const Place& place) {
  ASSIGN_OR_RETURN(const JsonTypes types, TypesOf(schema, place.pointer));
  if (types == kAllTypes && !schema.contains("type")) {
    return tokens_.AnyValue();
  }
  std::vector<Expression> options;
  if ((types & kNullType) != 0) {
    options.push_back(tokens_.Null());
  }
  if ((types & kBooleanType) != 0) {
    options.push_back(tokens_.Boolean());
  }
  if ((types & kObjectType) != 0) {
    ASSIGN_OR_RETURN(const Expression object, ObjectOf(schema, place));
    options.push_back(object);
  }
  if ((types & kArrayType) != 0) {
    ASSIGN_OR_RETURN(const Expression array, ArrayOf(schema, place));
    options.push_back(array);
  }
  if ((types & kStringType) != 0) {
    ASSIGN_OR_RETURN(const Expression string, StringOf(schema, place));
    options.push_back(string);
  }
  if ((types & (kIntegerType | kNumberType)) != 0) {
    const bool is_integer = (types & kNumberType) == 0;
    ASSIGN_OR_RETURN(const Expression number, NumberOf(schema, place, is_integer));
    options.push_back(number);
  }
  return builder_.Choice(options);
}

Expression SchemaCompiler::ListedValues(const std::vector<Json>& values) {
  std::vector<std::string> texts;
  for (const Json& value : values) {
    texts.push_back(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return tokens_.OneOf(std::move(texts));
}

ExpressionOr SchemaCompiler::ObjectOf(const Json& schema, const Place& place) {
  ASSIGN_OR_RETURN(const auto required, RequiredNamesOf(schema, place.pointer));
  const std::set<std::string> is_required(required.begin(), required.end());
  std::vector<JsonTokens::Member> members;
  std::vector<std::string> names;
  if (const auto properties = schema.find("properties"); properties != schema.end()) {
    if (!properties->is_object()) {
      return SchemaError(place.pointer, "has properties that are no object",
                         "; write an object with a schema for each name");
    }
    for (const auto& [name, property] : properties->items()) {
      ASSIGN_OR_RETURN(const Expression value, ValueOf(property, Below(place, "properties", name)));
      members.push_back(
          {.written = tokens_.MemberNamed(name, value), .required = is_required.contains(name)});
      names.push_back(name);
    }
  }
  RETURN_IF_ERROR(AddUnnamedMembers(schema, place, required, std::move(names), &members));
  return tokens_.Object(members);
}

absl::StatusOr<std::optional<Expression>> SchemaCompiler::AdditionalValueOf(const Json& schema,
                                                                            const Place& place) {
  const auto additional = schema.find("additionalProperties");
  if (additional == schema.end()) {
    return std::optional(tokens_.AnyValue());
  }
  if (additional->is_boolean() && !additional->get<bool>()) {
    return std::optional<Expression>();
  }
  const GrammarBuilder::Rule rule = builder_.AddRule();
  const Place below = {.pointer = PointerTo(place.pointer, "additionalProperties")};
  ASSIGN_OR_RETURN(const Expression value, ValueOf(*additional, below));
  builder_.Define(rule, value);
  return std::optional(builder_.Call(rule));
}

absl::Status SchemaCompiler::AddUnnamedMembers(const Json& schema, const Place& place,
                                               const std::vector<std::string>& required,
                                               std::vector<std::string> names,
                                               std::vector<JsonTokens::Member>* members) {
  ASSIGN_OR_RETURN(const auto value, AdditionalValueOf(schema, place));
  std::set<std::string> known(names.begin(), names.end());
  for (const std::string& name : required) {
    if (!known.insert(name).second) {
      continue;
    }
    if (!value.has_value()) {
      return SchemaError(place.pointer, fmt::format("requires \"{}\"", SanitizeForDisplay(name)),
                         ", which additionalProperties forbids; add it to properties");
    }
    members->push_back({.written = tokens_.MemberNamed(name, *value), .required = true});
    names.push_back(name);
  }
  // Without additionalProperties, a list of properties is complete.
  const bool is_closed = schema.contains("properties") && !schema.contains("additionalProperties");
  if (is_closed || !value.has_value()) {
    return absl::OkStatus();
  }
  for (const std::string& name : names) {
    if (name.size() > JsonTokens::kMaxNameLength) {
      return SchemaError(place.pointer,
                         fmt::format("has the property \"{}\"", SanitizeForDisplay(name)),
                         fmt::format(", whose name is too long beside additionalProperties; use at "
                                     "most {} bytes, or set additionalProperties to false",
                                     JsonTokens::kMaxNameLength));
    }
  }
  members->push_back({.written = tokens_.MembersExcept(names, *value), .required = false});
  return absl::OkStatus();
}

ExpressionOr SchemaCompiler::ArrayOf(const Json& schema, const Place& place) {
  JsonTokens::Elements elements;
  const auto first = schema.find("prefixItems");
  if (first != schema.end()) {
    if (!first->is_array()) {
      return SchemaError(place.pointer, "has prefixItems that are no list of schemas",
                         "; write a list of schemas");
    }
    for (size_t i = 0; i < first->size(); ++i) {
      ASSIGN_OR_RETURN(const Expression element,
                       ValueOf((*first)[i], Below(place, "prefixItems", std::to_string(i))));
      elements.first.push_back(element);
    }
  }
  if (const auto items = schema.find("items"); items == schema.end()) {
    if (first == schema.end()) {
      elements.rest = tokens_.AnyValue();
    }
  } else if (!items->is_boolean() || items->get<bool>()) {
    const GrammarBuilder::Rule rule = builder_.AddRule();
    const Place below = {.pointer = PointerTo(place.pointer, "items")};
    ASSIGN_OR_RETURN(const Expression element, ValueOf(*items, below));
    builder_.Define(rule, element);
    elements.rest = builder_.Call(rule);
  }
  ASSIGN_OR_RETURN(elements.least, CountOf(schema, "minItems", 0, place.pointer));
  ASSIGN_OR_RETURN(elements.most,
                   CountOf(schema, "maxItems", GrammarBuilder::kUnbounded, place.pointer));
  if (elements.most != GrammarBuilder::kUnbounded && elements.most < elements.least) {
    return SchemaError(place.pointer, "has a minItems above its maxItems", "; change one of them");
  }
  if (!elements.rest.has_value() && static_cast<size_t>(elements.least) > elements.first.size()) {
    return SchemaError(place.pointer, "has a minItems above the number of its prefixItems",
                       "; add a schema as items");
  }
  return tokens_.Array(elements);
}

ExpressionOr SchemaCompiler::StringOf(const Json& schema, const Place& place) {
  ASSIGN_OR_RETURN(const int least, CountOf(schema, "minLength", 0, place.pointer));
  ASSIGN_OR_RETURN(const int most,
                   CountOf(schema, "maxLength", GrammarBuilder::kUnbounded, place.pointer));
  if (least == 0 && most == GrammarBuilder::kUnbounded) {
    return tokens_.String();
  }
  if (most != GrammarBuilder::kUnbounded && most < least) {
    return SchemaError(place.pointer, "has a minLength above its maxLength",
                       "; change one of them");
  }
  return tokens_.StringOfLength(least, most);
}

ExpressionOr SchemaCompiler::NumberOf(const Json& schema, const Place& place, bool is_integer) {
  const auto minimum = schema.find("minimum");
  const bool has_minimum = minimum != schema.end();
  if (has_minimum && !(minimum->is_number() && minimum->get<double>() == 0)) {
    return SchemaError(place.pointer, "has a minimum other than 0",
                       ", which this node does not support; use 0 or leave it out");
  }
  return is_integer ? tokens_.Integer(!has_minimum) : tokens_.Number(!has_minimum);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Grammar>> GrammarOfJsonSchema(std::string_view schema) {
  ASSIGN_OR_RETURN(const Json root, ReadSchemaText(schema));
  return SchemaCompiler(root).Compile();
}

absl::StatusOr<std::shared_ptr<const Grammar>> GrammarOfJson() {
  GrammarBuilder builder;
  JsonTokens tokens(&builder);
  const Expression whole[] = {tokens.Space(), tokens.AnyObject()};
  return builder.Build(builder.Sequence(whole));
}

}  // namespace ruvd::inference
