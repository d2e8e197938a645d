// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "inference/constrain/grammar.h"

namespace ruvd::inference {

// Returns a grammar of JSON texts that are valid under a JSON schema (draft 2020-12), from the
// schema's text. Every text of the grammar is valid, but not every valid value has a text:
//   - White space stands before a token only, at most limits::kMaxJsonSpace characters.
//   - Properties are written in the order of the schema.
//   - Where `properties` is there and `additionalProperties` is not, only the named properties are
//     written, and with them names that only `required` has. Where `prefixItems` is there and
//     `items` is not, only the prefix is written.
//   - Without `type`, values have the types of which the schema's keywords speak (`properties`:
//     an object); without such keywords, they have any type.
//   - Names that `additionalProperties` allows are written without escapes, and are not those of
//     `properties`. A name may occur twice among them; readers of JSON keep the last value.
//   - Numbers have at most 15 digits before the point, 15 after it and an exponent of two.
//   - Values of `const` and `enum` are written without white space.
//   - Values of which the schema says nothing are nested at most JsonTokens::kMaxNesting deep.
//
// Keywords: type, enum, const, properties, required, additionalProperties, items, prefixItems,
// minItems, maxItems, minLength, maxLength (up to limits::kMaxRepetitions), minimum (0 only),
// anyOf, oneOf (if the options are known to differ, see json_schema_options.h), allOf (one
// element), and $ref to "#", "#/$defs/NAME" and "#/definitions/NAME", also recursive. A
// schema may be true or, for additionalProperties and items only, false. $schema, $id (at the top),
// $defs, definitions, $comment, title, description, default, examples, deprecated, readOnly,
// writeOnly and strict hold no value to anything.
//
// INVALID_ARGUMENT names the place as a JSON pointer and what to change: for text that is no
// schema or too large (see ReadSchemaText), for every other keyword, such as pattern, format,
// maximum or uniqueItems, for a keyword with a wrong value, for a schema that no value fits, for
// references in a circle, and for a grammar beyond GrammarBuilder's limits. Thread-safe.
absl::StatusOr<std::shared_ptr<const Grammar>> GrammarOfJsonSchema(std::string_view schema);

// Returns the grammar of any JSON object, with the limits of numbers, white space and nesting of
// GrammarOfJsonSchema. Thread-safe.
absl::StatusOr<std::shared_ptr<const Grammar>> GrammarOfJson();

}  // namespace ruvd::inference
