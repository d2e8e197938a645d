// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/adapter_ref.h"

#include <charconv>
#include <string>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::cli {

absl::Status ReadAdapterRef(std::string_view text, adapter::v1::AdapterRef* ref) {
  const size_t at = text.rfind('@');
  const std::string_view name = text.substr(0, at);
  bool fine = !name.empty();
  if (at != std::string_view::npos) {
    const std::string_view digits = text.substr(at + 1);
    uint32_t version = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), version);
    fine = fine && error == std::errc() && end == digits.data() + digits.size();
    ref->set_version(version);
  }
  ref->set_name(std::string(name));
  return fine
             ? absl::OkStatus()
             : Error(absl::StatusCode::kInvalidArgument, reasons::kUsage,
                     "'{}' is not NAME or NAME@VERSION of an adapter; see `ruvd adapter ls`", text);
}

}  // namespace ruvd::cli
