// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/constraint_request.h"

#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/constrain/choices.h"
#include "inference/constrain/gbnf.h"
#include "inference/constrain/json_schema.h"
#include "inference/constrain/regex.h"

namespace ruvd::api {

absl::StatusOr<std::shared_ptr<const inference::Grammar>> ReadConstraint(
    const inference::v1::GenerateRequest& request) {
  using Request = inference::v1::GenerateRequest;
  switch (request.constraint_case()) {
    case Request::kJsonSchema:
      return inference::GrammarOfJsonSchema(request.json_schema());
    case Request::kJsonObject:
      if (!request.json_object()) {
        return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                     "json_object is false; set it to true or leave it out");
      }
      return inference::GrammarOfJson();
    case Request::kRegex:
      return inference::GrammarOfRegex(request.regex());
    case Request::kChoices: {
      const auto& texts = request.choices().texts();
      return inference::GrammarOfChoices(std::vector<std::string>(texts.begin(), texts.end()));
    }
    case Request::kGbnf:
      return inference::GrammarOfGbnf(request.gbnf());
    case Request::CONSTRAINT_NOT_SET:
      break;
  }
  return nullptr;
}

}  // namespace ruvd::api
