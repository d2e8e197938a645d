// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/constraint_request.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error_details.h"
#include "inference/constrain/choices.h"
#include "inference/constrain/gbnf.h"
#include "inference/constrain/json_schema.h"
#include "inference/constrain/regex.h"
#include "node/api/bad_request.h"

namespace ruvd::api {
namespace {

using GrammarPointer = std::shared_ptr<const inference::Grammar>;

// Adds to an error which of the fields it is about.
absl::StatusOr<GrammarPointer> Named(std::string_view field,
                                     absl::StatusOr<GrammarPointer> grammar) {
  return grammar.ok() ? std::move(grammar) : WithField(grammar.status(), field);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const inference::Grammar>> ReadConstraint(
    const inference::v1::GenerateRequest& request) {
  using Request = inference::v1::GenerateRequest;
  switch (request.constraint_case()) {
    case Request::kJsonSchema:
      return Named("json_schema", inference::GrammarOfJsonSchema(request.json_schema()));
    case Request::kJsonObject:
      if (!request.json_object()) {
        return BadField("json_object", "json_object is false; set it to true or leave it out");
      }
      return inference::GrammarOfJson();
    case Request::kRegex:
      return Named("regex", inference::GrammarOfRegex(request.regex()));
    case Request::kChoices: {
      const auto& texts = request.choices().texts();
      return Named("choices", inference::GrammarOfChoices(
                                  std::vector<std::string>(texts.begin(), texts.end())));
    }
    case Request::kGbnf:
      return Named("gbnf", inference::GrammarOfGbnf(request.gbnf()));
    case Request::CONSTRAINT_NOT_SET:
      break;
  }
  return nullptr;
}

}  // namespace ruvd::api
