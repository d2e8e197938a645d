// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/json_schema.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/constrain/automaton.h"
#include "inference/constrain/json_schema_options.h"
#include "inference/constrain/limits.h"

namespace ruvd::inference {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Texts = std::initializer_list<std::string_view>;

void ExpectTexts(const absl::StatusOr<std::shared_ptr<const Grammar>>& grammar, Texts valid,
                 Texts invalid) {
  ASSERT_TRUE(grammar.ok()) << MessageOf(grammar.status());
  for (const std::string_view text : valid) {
    EXPECT_TRUE(Matches(*grammar, text)) << text;
  }
  for (const std::string_view text : invalid) {
    EXPECT_FALSE(Matches(*grammar, text)) << text;
  }
}

void ExpectTexts(std::string_view schema, Texts valid, Texts invalid) {
  SCOPED_TRACE(schema);
  ExpectTexts(GrammarOfJsonSchema(schema), valid, invalid);
}

std::string ErrorOf(std::string_view schema) {
  const auto grammar = GrammarOfJsonSchema(schema);
  if (grammar.ok()) {
    return "";
  }
  EXPECT_EQ(grammar.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReasonOf(grammar.status()), reasons::kInvalidArgument);
  return MessageOf(grammar.status());
}

TEST(JsonSchemaTest, ReadsStrings) {
  ExpectTexts(
      R"({"type": "string"})",
      {R"("")", R"("abc")", R"("é日本𝄞")", R"("\"\\\/\b\f\n\r\t")", R"("\u00e9\uD7ff\uE000")"},
      {R"(")", R"(abc)", R"("a"b")", "\"\n\"", "\"\x01\"", R"("\x")", R"("\u12")",
       R"("\ud834\udd1e")", R"("\uDFFF")", "\"\xff\"", "\"\xed\xa0\x80\"", R"("a" )"});
}

TEST(JsonSchemaTest, CountsCharactersOfStrings) {
  ExpectTexts(R"({"type": "string", "minLength": 2, "maxLength": 3})",
              {R"("ab")", R"("é日本")", R"("\n\u0041𝄞")"}, {R"("a")", R"("abcd")", R"("")"});
  ExpectTexts(R"({"type": "string", "minLength": 2})", {R"("ab")", R"("abcdefgh")"}, {R"("a")"});
  ExpectTexts(R"({"type": "string", "maxLength": 0})", {R"("")"}, {R"("a")"});
}

TEST(JsonSchemaTest, ReadsIntegers) {
  ExpectTexts(R"({"type": "integer"})", {"0", "-0", "7", "-120", "999999999999999"},
              {"", "-", "01", "1.0", "1e3", "+1", "1000000000000000", "null"});
  ExpectTexts(R"({"type": "integer", "minimum": 0})", {"0", "12"}, {"-1", "-0"});
}

TEST(JsonSchemaTest, ReadsNumbers) {
  ExpectTexts(R"({"type": "number"})", {"0", "-1.5", "3E8", "0.001e-09", "12.25E+99"},
              {".5", "1.", "1e", "1e100", "0.0000000000000001", "00.1", "-", "NaN", "Infinity"});
  ExpectTexts(R"({"type": "number", "minimum": 0.0})", {"0.5", "7"}, {"-0.5"});
}

TEST(JsonSchemaTest, ReadsBooleansAndNull) {
  ExpectTexts(R"({"type": "boolean"})", {"true", "false"}, {"null", "True", "tru", "0"});
  ExpectTexts(R"({"type": "null"})", {"null"}, {"false", "nul", "\"null\""});
}

TEST(JsonSchemaTest, ReadsEachOfSeveralTypes) {
  ExpectTexts(R"({"type": ["string", "null"], "maxLength": 1})", {R"("a")", "null"},
              {R"("ab")", "1", "[]"});
  ExpectTexts(R"({"type": ["integer", "boolean"]})", {"3", "true"}, {"3.5", "\"3\""});
}

TEST(JsonSchemaTest, InfersTheTypeFromKeywords) {
  ExpectTexts(R"({"properties": {"a": {"type": "null"}}})", {"{}", R"({"a":null})"}, {"1", "[]"});
  ExpectTexts(R"({"maxLength": 1, "minimum": 0})", {R"("a")", "1.5"}, {"-1", R"("ab")", "null"});
}

TEST(JsonSchemaTest, WritesPropertiesInOrderAndRequiredOnesAlways) {
  ExpectTexts(R"({"type": "object", "required": ["b"], "additionalProperties": false,
                  "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"},
                                 "c": {"type": "null"}}})",
              {R"({"b":true})", R"({"a":1,"b":true})", R"({"b":true,"c":null})",
               R"({"a":1,"b":false,"c":null})"},
              {"{}", R"({"a":1})", R"({"b":true,"a":1})", R"({"a":1,"c":null})", R"({"b":1})",
               R"({,"b":true})", R"({"b":true,})", R"({"a":1"b":true})", R"({"b":true,"b":true})",
               R"({"b":true,"d":1})", R"({"a":1,,"b":true})"});
}

TEST(JsonSchemaTest, AnyPropertyMayBeTheFirst) {
  ExpectTexts(R"({"properties": {"a": true, "b": true, "c": true, "d": true, "e": true}})",
              {"{}", R"({"a":1,"e":2})", R"({"b":1,"c":2,"d":3})", R"({"e":1})",
               R"({"a":1,"b":2,"c":3,"d":4,"e":5})", R"({"c":1,"e":[]})"},
              {R"({"e":1,"a":2})", R"({"c":1,"b":2})", R"({"f":1})", R"({"c":1,})"});
}

TEST(JsonSchemaTest, PropertiesMayHaveTheNamesOfKeywords) {
  ExpectTexts(R"({"properties": {"type": {"const": "x"}, "$ref": true}, "required": ["type"]})",
              {R"({"type":"x"})", R"({"type":"x","$ref":1})"}, {R"({"type":"y"})"});
}

TEST(JsonSchemaTest, WhiteSpaceMayStandBetweenTokens) {
  ExpectTexts(R"({"properties": {"a": {"type": "array", "items": {"type": "integer"}}}})",
              {"\t{ \"a\" :\n[ 1\r, 2 ] }", "{ }", R"({"a":[ ]})", R"( { "a" : [ ] })"},
              {"{} ", "{}\n", "{  \"a\":[]}", "{\f}", "{\"a\":[1 2]}", "{\"a \":[]}"});
}

TEST(JsonSchemaTest, AdditionalPropertiesFollowTheNamedOnes) {
  ExpectTexts(R"({"properties": {"ab": {"type": "null"}, "aé": {"type": "null"}},
                  "additionalProperties": {"type": "integer"}, "required": ["ab"]})",
              {R"({"ab":null})", R"({"ab":null,"a":1})", R"({"ab":null,"abc":1,"x":2})",
               R"({"ab":null,"aè":1,"aéb":2})", R"({"ab":null,"aé":null,"":3})"},
              {"{}", R"({"ab":null,"ab":1})", R"({"ab":null,"aé":1})", R"({"ab":1})",
               R"({"x":2,"ab":null})", R"({"ab":null,"x":null})", R"({"ab":null,"\u0061b":1})"});
}

TEST(JsonSchemaTest, ObjectsWithoutPropertiesAreOpenUnlessTheyAreClosed) {
  ExpectTexts(R"({"type": "object"})", {"{}", R"({"a":[1,{"b":null}],"c":"d"})"}, {"[]", "{1:2}"});
  ExpectTexts(R"({"type": "object", "additionalProperties": false})", {"{}"}, {R"({"a":1})"});
  ExpectTexts(R"({"type": "object", "properties": {}})", {"{}"}, {R"({"a":1})"});
  ExpectTexts(R"({"additionalProperties": {"type": "string"}})", {"{}", R"({"a":"b"})"},
              {R"({"a":1})"});
}

TEST(JsonSchemaTest, RequiredNamesWithoutPropertyAreAdditional) {
  ExpectTexts(R"({"additionalProperties": {"type": "integer"}, "required": ["b", "a"]})",
              {R"({"b":1,"a":2})", R"({"b":1,"a":2,"c":3})"},
              {R"({"a":2,"b":1})", R"({"b":1})", R"({"b":"x","a":2})", R"({"b":1,"a":2,"a":3})"});
  ExpectTexts(R"({"properties": {"a": true}, "required": ["z"]})",
              {R"({"z":1})", R"({"a":1,"z":2})"}, {"{}", R"({"z":1,"y":2})"});
  EXPECT_THAT(ErrorOf(R"({"properties": {"o": {"additionalProperties": false,
                                               "required": ["z"]}}})"),
              AllOf(HasSubstr("requires \"z\" at /properties/o"), HasSubstr("forbids")));
}

TEST(JsonSchemaTest, CountsItems) {
  ExpectTexts(R"({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3})",
              {"[1]", "[1,2]", "[1, 2, 3]"}, {"[]", "[1,2,3,4]", "[,1]", "[1,]", "[true]"});
  ExpectTexts(R"({"type": "array", "items": {"type": "integer"}})", {"[]", "[1,2,3,4,5]"},
              {"[[]]"});
  ExpectTexts(R"({"type": "array", "maxItems": 0})", {"[]"}, {"[1]"});
  ExpectTexts(R"({"type": "array", "items": false})", {"[]"}, {"[1]"});
  ExpectTexts(R"({"type": "array", "minItems": 2})", {R"([1,"a"])", "[[],{},null]"}, {"[1]"});
}

TEST(JsonSchemaTest, PrefixItemsHaveTheirOwnSchemas) {
  ExpectTexts(R"({"prefixItems": [{"type": "string"}, {"type": "integer"}]})",
              {"[]", R"(["a"])", R"(["a",1])"}, {"[1]", R"(["a",1,2])", R"(["a","b"])"});
  ExpectTexts(R"({"prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2,
                  "items": false})",
              {R"(["a",1])"}, {"[]", R"(["a"])", R"(["a",1,2])"});
  ExpectTexts(R"({"prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 3,
                  "maxItems": 4, "items": {"type": "null"}})",
              {R"(["a",1,null])", R"(["a",1,null,null])"},
              {R"(["a",1])", R"(["a",1,null,null,null])", R"(["a",1,2])"});
  ExpectTexts(R"({"prefixItems": [{"type": "string"}, {"type": "integer"}], "maxItems": 1})",
              {"[]", R"(["a"])"}, {R"(["a",1])"});
}

TEST(JsonSchemaTest, EnumAndConstAreTheirCompactTexts) {
  ExpectTexts(
      R"({"enum": ["re", "red", 1, 12, 1.5, null, {"b": [1, "x"], "a": 2}, "é\n\""]})",
      {R"("re")", R"("red")", "1", "12", "1.5", "null", R"({"b":[1,"x"],"a":2})", R"("é\n\"")"},
      {R"("r")", R"("reds")", "2", "1.", "true", R"({"b":[1, "x"],"a":2})", R"("\u00e9\n\"")"});
  ExpectTexts(R"({"const": "a/b"})", {R"("a/b")"}, {R"("a\/b")", R"("a")"});
}

TEST(JsonSchemaTest, TypeChoosesAmongTheValuesOfAnEnum) {
  ExpectTexts(R"({"type": ["string", "integer"], "enum": ["a", null, 3, 3.5, 4.0]})",
              {R"("a")", "3", "4.0"}, {"null", "3.5"});
  EXPECT_THAT(ErrorOf(R"({"type": "string", "const": 1})"), HasSubstr("allows no value"));
}

TEST(JsonSchemaTest, AnEnumMayHaveThousandsOfTexts) {
  std::string values;
  for (size_t i = 0; i <= 5000; ++i) {
    values += fmt::format("{}\"v{}\"", i == 0 ? "" : ",", i);
  }
  const std::string last = fmt::format("\"v{}\"", 5000);
  ExpectTexts("{\"enum\": [" + values + "]}", {"\"v0\"", last}, {"\"v9999\""});
}

TEST(JsonSchemaTest, AnyOfAllowsEachOption) {
  ExpectTexts(R"({"anyOf": [{"type": "string"}, {"type": "array", "items": {"const": 1}}]})",
              {R"("a")", "[1,1]"}, {"1", "[2]"});
  ExpectTexts(R"({"title": "t", "allOf": [{"type": "null"}]})", {"null"}, {"1"});
  EXPECT_THAT(ErrorOf(R"({"items": {"allOf": [{"type": "null"}, {}]}})"),
              HasSubstr("uses allOf with several schemas at /items"));
  EXPECT_THAT(ErrorOf(R"({"anyOf": []})"), HasSubstr("no list of schemas at its top"));
  EXPECT_THAT(ErrorOf(R"({"anyOf": [{}], "type": "string"})"),
              HasSubstr("uses anyOf together with type"));
}

TEST(JsonSchemaTest, OneOfWorksForOptionsThatDiffer) {
  ExpectTexts(R"({"oneOf": [{"type": "string"}, {"type": "integer"}, {"enum": [null, true]}]})",
              {R"("a")", "1", "null"}, {"false", "1.5"});
  ExpectTexts(R"({"oneOf": [{"$ref": "#/$defs/cat"}, {"$ref": "#/$defs/dog"}], "$defs": {
                  "cat": {"type": "object", "properties": {"kind": {"enum": ["cat", "lion"]}},
                          "required": ["kind"]},
                  "dog": {"type": "object", "properties": {"kind": {"const": "dog"}},
                          "required": ["kind"]}}})",
              {R"({"kind":"lion"})", R"({"kind":"dog"})"}, {R"({"kind":"cow"})", "{}"});
}

TEST(JsonSchemaTest, OneOfIsRefusedForOptionsThatMayOverlap) {
  const auto refused = AllOf(HasSubstr("uses oneOf at"), HasSubstr("may allow the same value"));
  EXPECT_THAT(ErrorOf(R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})"), refused);
  EXPECT_THAT(ErrorOf(R"({"oneOf": [{"enum": [1, 2]}, {"enum": [2.0]}]})"), refused);
  EXPECT_THAT(ErrorOf(R"({"oneOf": [{"const": {"a": 1, "b": 2}}, {"const": {"b": 2, "a": 1}}]})"),
              refused);
  EXPECT_THAT(ErrorOf(R"({"oneOf": [{"type": "null"}, {"anyOf": [{"type": "null"}]}]})"), refused);
  EXPECT_THAT(ErrorOf(R"({"oneOf": [{"type": "string"}, {"properties": {"a": true}}]})"), refused);
  EXPECT_THAT(ErrorOf(R"({"oneOf": [{"type": "object", "properties": {"k": {"const": 1}}},
                                    {"type": "object", "properties": {"k": {"const": 2}},
                                     "required": ["k"]}]})"),
              refused);
}

TEST(JsonSchemaTest, FollowsReferencesAlsoRecursiveOnes) {
  ExpectTexts(R"({"type": "object", "properties": {
                  "n": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
                  "required": ["n", "next"]})",
              {R"({"n":1,"next":null})", R"({"n":1,"next":{"n":2,"next":null}})"},
              {R"({"n":1,"next":{"n":2}})", R"({"n":1})"});
  ExpectTexts(R"({"$ref": "#/$defs/tree", "$defs": {
                  "tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}})",
              {"[]", "[[],[[]]]"}, {"[1]", "[[]"});
  ExpectTexts(R"({"definitions": {"a/b~c": {"type": "null"}},
                  "items": {"$ref": "#/definitions/a~1b~0c"}})",
              {"[null]"}, {"[1]"});
}

TEST(JsonSchemaTest, RefusesReferencesThatLeadNowhere) {
  EXPECT_THAT(ErrorOf(R"({"items": {"$ref": "#/$defs/x"}})"),
              AllOf(HasSubstr("$ref #/$defs/x"), HasSubstr("at /items")));
  EXPECT_THAT(ErrorOf(R"({"properties": {"a": {"$ref": "#/properties/a"}}})"),
              HasSubstr("names nothing"));
  EXPECT_THAT(ErrorOf(R"({"$ref": 3})"), HasSubstr("is no string"));
  EXPECT_THAT(ErrorOf(R"({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"},
                          "b": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/a"}]}}})"),
              HasSubstr("has references in a circle at /$defs/"));
  EXPECT_THAT(ErrorOf(R"({"$ref": "#"})"), HasSubstr("has references in a circle at its top"));
  EXPECT_THAT(ErrorOf(R"({"properties": {"a": {"$ref": "#"}}, "required": ["a"]})"),
              HasSubstr("no text satisfies"));
}

TEST(JsonSchemaTest, TrueAndTheEmptySchemaAllowAnyValue) {
  for (const char* schema : {"true", "{}", R"({"title": "anything"})"}) {
    ExpectTexts(schema, {"1", R"({"a":[null,{"b":"c"}]})", R"([[[[]]]])", R"("x")", "true"},
                {"", "[1,]", "{1}", R"({"a"})", "nulls", "[[]"});
  }
}

TEST(JsonSchemaTest, AnyValueIsNestedToALimit) {
  const std::string deepest = std::string(32, '[') + std::string(32, ']');
  ExpectTexts("true", {deepest}, {"[" + deepest + "]"});
}

TEST(JsonSchemaTest, FalseIsRefusedWhereAValueIsWritten) {
  EXPECT_THAT(ErrorOf("false"), HasSubstr("allows no value, because it is false, at its top"));
  EXPECT_THAT(ErrorOf(R"({"properties": {"a": false}})"), HasSubstr("at /properties/a"));
}

TEST(JsonSchemaTest, AnnotationsHoldNothing) {
  ExpectTexts(R"({"$schema": "s", "$id": "i", "$comment": "c", "title": "t", "description": "d",
                  "default": 1, "examples": [], "deprecated": true, "readOnly": true,
                  "writeOnly": false, "strict": true, "$defs": {}, "definitions": {},
                  "type": "null"})",
              {"null"}, {"1"});
}

TEST(JsonSchemaTest, RefusesEveryOtherKeywordByName) {
  for (const char* keyword : {"uniqueItems",
                              "pattern",
                              "format",
                              "maximum",
                              "exclusiveMinimum",
                              "exclusiveMaximum",
                              "multipleOf",
                              "minProperties",
                              "maxProperties",
                              "contains",
                              "not",
                              "if",
                              "then",
                              "else",
                              "patternProperties",
                              "propertyNames",
                              "dependentRequired",
                              "unevaluatedProperties",
                              "unevaluatedItems",
                              "$anchor",
                              "$dynamicRef",
                              "nullable",
                              "additionalItems",
                              "Type"}) {
    const std::string schema =
        fmt::format(R"({{"properties": {{"a/b": {{"{}": true}}}}}})", keyword);
    EXPECT_EQ(ErrorOf(schema), fmt::format("the schema uses {} at /properties/a~1b, which this "
                                           "node does not support; leave it out",
                                           keyword));
  }
}

TEST(JsonSchemaTest, RefusesKeywordsWithWrongValues) {
  EXPECT_THAT(ErrorOf(R"({"type": "text"})"), HasSubstr("type that JSON Schema does not know"));
  EXPECT_THAT(ErrorOf(R"({"type": []})"), HasSubstr("empty list of types"));
  EXPECT_THAT(ErrorOf(R"({"properties": []})"), HasSubstr("properties that are no object"));
  EXPECT_THAT(ErrorOf(R"({"required": ["a", 1]})"), HasSubstr("no list of names"));
  EXPECT_THAT(ErrorOf(R"({"items": [{}]})"), HasSubstr("part that is no schema at /items"));
  EXPECT_THAT(ErrorOf(R"({"prefixItems": {}})"), HasSubstr("prefixItems that are no list"));
  EXPECT_THAT(ErrorOf(R"({"enum": []})"), HasSubstr("enum that is no list"));
  EXPECT_THAT(ErrorOf(R"({"minimum": 1})"), HasSubstr("minimum other than 0"));
  EXPECT_THAT(ErrorOf(R"({"minLength": -1})"), HasSubstr("has a minLength"));
  EXPECT_THAT(ErrorOf(R"({"maxItems": 10001})"), HasSubstr("from 0 to 10000"));
  EXPECT_THAT(ErrorOf(R"({"maxItems": "3"})"), HasSubstr("has a maxItems"));
  EXPECT_THAT(ErrorOf(R"({"minItems": 2, "maxItems": 1})"), HasSubstr("minItems above"));
  EXPECT_THAT(ErrorOf(R"({"minLength": 2, "maxLength": 1})"), HasSubstr("minLength above"));
  EXPECT_THAT(ErrorOf(R"({"prefixItems": [{}], "minItems": 2})"),
              HasSubstr("add a schema as items"));
  EXPECT_THAT(ErrorOf(R"({"type": "integer", "minItems": 2})"), HasSubstr("speaks of arrays"));
  EXPECT_THAT(ErrorOf(R"({"items": {"$id": "x"}})"), HasSubstr("at the top only"));
}

TEST(JsonSchemaTest, RefusesTextThatIsNoSchema) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("the schema is not JSON at byte"));
  EXPECT_THAT(ErrorOf("{} {}"), HasSubstr("is not JSON"));
  EXPECT_THAT(ErrorOf("{\"title\": \"\xff\"}"), HasSubstr("is not JSON"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("part that is no schema at its top"));
  EXPECT_THAT(ErrorOf(R"({"const": 1e999})"), HasSubstr("a number that is too large"));
  EXPECT_THAT(ErrorOf(R"({"type": "null", "type": "null"})"), HasSubstr("\"type\" twice"));
}

TEST(JsonSchemaTest, RefusesLongListsOfOptionsAndChainsOfReferences) {
  std::string options = "true";
  for (size_t i = 0; i < kMaxOptions; ++i) {
    options += ", true";
  }
  EXPECT_THAT(ErrorOf("{\"anyOf\": [" + options + "]}"), HasSubstr("has 129 options in anyOf"));
  for (const int length : {64, 65}) {
    std::string chain = fmt::format("\"{}\": {{\"type\": \"null\"}}", length);
    for (int i = 1; i < length; ++i) {
      chain += fmt::format(R"(, "{}": {{"$ref": "#/$defs/{}"}})", i, i + 1);
    }
    const std::string schema = R"({"$ref": "#/$defs/1", "$defs": {)" + chain + "}}";
    if (length == 64) {
      ExpectTexts(schema, {"null"}, {"1"});
    } else {
      EXPECT_THAT(ErrorOf(schema), HasSubstr("has a chain of references at its top with more"));
    }
  }
}

TEST(JsonSchemaTest, RefusesSchemasBeyondTheLimits) {
  EXPECT_THAT(ErrorOf(std::string(limits::kMaxConstraintBytes + 1, ' ')),
              HasSubstr("takes at most 65536"));
  EXPECT_THAT(ErrorOf(std::string(60'000, '[')), HasSubstr("more than 64 levels"));
  EXPECT_THAT(ErrorOf(R"({"items": {"type": "array", "minItems": 10000, "items": {
                          "type": "string", "minLength": 9999}}, "additionalProperties": {
                          "properties": {"a": {"minLength": 10000}, "b": {"minLength": 10000},
                                         "c": {"minLength": 10000}, "d": {"minLength": 10000},
                                         "e": {"minLength": 10000}, "f": {"minLength": 10000},
                                         "g": {"minLength": 10000}, "h": {"minLength": 10000}}}})"),
              HasSubstr("100000 states"));
  std::string name(257, 'n');
  EXPECT_THAT(ErrorOf(R"({"additionalProperties": true, "properties": {")" + name + "\": true}}"),
              HasSubstr("name is too long"));
}

TEST(JsonSchemaTest, JsonIsAnyObject) {
  ExpectTexts(GrammarOfJson(),
              {"{}", R"( { "a" : [1, -2.5e3, "x\u00e9"], "\n": {"b": null} , "a": true})"},
              {"[]", "1", "", "{", "{}}", R"({"a":1,})", R"({a:1})", "{} "});
}

}  // namespace
}  // namespace ruvd::inference
