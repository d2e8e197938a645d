// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/status.h"
#include "tests/conformance/suite.h"

namespace ruvd::conformance {
namespace {

// Returns the word that a refusal must contain, by the fault's kind in the manifest; "" for a kind
// not listed.
std::string_view ExpectedWord(std::string_view kind) {
  struct Expectation {
    std::string_view kind;
    std::string_view word;
  };
  constexpr Expectation kExpectations[] = {
      {"truncated header", "truncated"},
      {"tensor offset beyond the file", "beyond the end of the file"},
      {"huge string length", "string length"},
      {"too many tensor dimensions", "9 dimensions"},
      {"unknown tensor type", "9999"},
      {"tensor shape does not fit the configuration", "blk.0.ffn_up.weight"},
  };
  for (const Expectation& expectation : kExpectations) {
    if (expectation.kind == kind) {
      return expectation.word;
    }
  }
  return "";
}

}  // namespace

void RunBroken(const Suite& suite) {
  for (const auto& entry : suite.manifest.at("broken")) {
    const std::string id = entry.at("file").get<std::string>();
    const auto model = inference::Model::Load(suite.Path(entry.at("file")));
    if (model.ok()) {
      suite.report->Fail(id,
                         fmt::format("loads although {}", entry.at("wrong").get<std::string>()));
      continue;
    }
    const std::string message = MessageOf(model.status());
    const std::string_view word = ExpectedWord(entry.at("kind").get<std::string>());
    if (message.find(word) == std::string::npos) {
      suite.report->Fail(id, fmt::format("the message does not say \"{}\": {}", word, message));
      continue;
    }
    suite.report->PassRefusal(message);
  }
  for (const auto& name : suite.manifest.at("broken_controls")) {
    const std::string id = name.get<std::string>();
    if (LoadModel(suite, id, name) != nullptr) {
      suite.report->Pass();
    }
  }
}

}  // namespace ruvd::conformance
