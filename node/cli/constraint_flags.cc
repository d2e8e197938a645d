// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/constraint_flags.h"

#include "base/file.h"
#include "base/status.h"
#include "node/cli/limits.h"

namespace ruvd::cli {

void AddConstraintFlags(Verb verb, ConstraintFlags& flags) {
  const std::vector<Flag> all = {
      verb.Option("--json-schema", flags.schema_file,
                  "File with a JSON schema; the completion is JSON that satisfies it"),
      verb.Switch("--json", flags.json, "The completion is a JSON object"),
      verb.Option("--regex", flags.regex, "Regular expression; all of the completion matches it"),
      verb.Option("--choice", flags.choices,
                  "The completion is this text; may be repeated, and it is then one of them")
          .OneValueEach(),
      verb.Option("--grammar", flags.grammar_file,
                  "File with a grammar in GBNF, which the completion follows")};
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = i + 1; j < all.size(); ++j) {
      Flag(all[i]).Excludes(all[j]);
    }
  }
}

absl::Status ReadConstraintFlags(const ConstraintFlags& flags,
                                 inference::v1::GenerateRequest* request) {
  if (!flags.schema_file.empty()) {
    ASSIGN_OR_RETURN(*request->mutable_json_schema(),
                     ReadFile(flags.schema_file, limits::kMaxPromptBytes));
  }
  if (flags.json) {
    request->set_json_object(true);
  }
  if (!flags.regex.empty()) {
    request->set_regex(flags.regex);
  }
  if (!flags.choices.empty()) {
    request->mutable_choices()->mutable_texts()->Assign(flags.choices.begin(), flags.choices.end());
  }
  if (!flags.grammar_file.empty()) {
    ASSIGN_OR_RETURN(*request->mutable_gbnf(),
                     ReadFile(flags.grammar_file, limits::kMaxPromptBytes));
  }
  return absl::OkStatus();
}

}  // namespace ruvd::cli
