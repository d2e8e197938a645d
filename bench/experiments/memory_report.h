// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ruvd::bench {

// Holds the losses of pieces of text, or of sessions, by arm; "frozen" is one of them.
using Losses = std::map<std::string, std::vector<double>>;

// What was measured for one domain, with parameters that were learned without it.
struct DomainRun {
  std::string name;
  Losses own;
  Losses general;
  std::vector<size_t> documents;  // of the values in `own`
  // Whether the memory has a stretch of the piece; empty: it was not looked for
  std::vector<bool> shared = {};
};

// Prints how much each arm gained on the domain's own text.
void PrintGains(const std::string& way, const DomainRun& run);

// Prints and returns a table: the gain of each arm against the frozen model on the mean of the
// domains, its interval over documents, the gain on pieces that share no stretch with the memory,
// the change of general text in per cent, and the gain in each domain.
nlohmann::json ReportGains(const std::string& way, const std::vector<DomainRun>& runs);

}  // namespace ruvd::bench
