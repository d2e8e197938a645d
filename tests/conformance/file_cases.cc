// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"
#include "tests/conformance/suite.h"

namespace ruvd::conformance {
namespace {

// Documentation files, which no case uses.
bool IsText(std::string_view name) {
  return name.ends_with("LICENSE") || name.ends_with(".md");
}

// Returns what is wrong with the file; "" if nothing is.
std::string Complaint(const Suite& suite, const std::string& name, const nlohmann::json& entry) {
  if (!IsText(name) && !suite.used->contains(name)) {
    return "no case uses this file";
  }
  const auto bytes = ReadFile((suite.folder / name).string(), kMaxFixtureBytes);
  if (!bytes.ok()) {
    return MessageOf(bytes.status());
  }
  const std::string digest = ToHex(Sha256(AsBytes(*bytes)));
  const bool same = bytes->size() == entry.at("bytes").get<size_t>() &&
                    digest == entry.at("sha256").get<std::string>();
  return same ? "" : fmt::format("has {} bytes with SHA-256 {}", bytes->size(), digest);
}

}  // namespace

void RunFiles(const Suite& suite) {
  for (const auto& [name, entry] : suite.manifest.at("files").items()) {
    const std::string complaint = Complaint(suite, name, entry);
    if (complaint.empty()) {
      suite.report->Pass();
    } else {
      suite.report->Fail(name, complaint);
    }
  }
}

}  // namespace ruvd::conformance
