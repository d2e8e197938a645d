// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace ruvd::openai {

// Reads the fields of one object of a request. A field that is null counts as absent, whatever its
// name: clients send back answers with "refusal": null, and options they leave open. The first
// error stays, and Finish returns it: a field of the wrong type or range is INVALID_ARGUMENT, and
// one that was never asked for is UNSUPPORTED_PARAMETER; both name its path. Not thread-safe.
class FieldReader {
 public:
  // `object` is borrowed. `path` is that of the object; empty for the whole body.
  explicit FieldReader(const nlohmann::json& object, std::string path = "");

  // Return the field, or nullopt if it is absent or wrong.
  std::optional<std::string> Text(std::string_view name);
  std::optional<double> Number(std::string_view name);
  // A whole number from `least` to `most`
  std::optional<uint64_t> Whole(std::string_view name, uint64_t least, uint64_t most);
  std::optional<bool> Flag(std::string_view name);
  // A text, or a list of them
  std::optional<std::vector<std::string>> Texts(std::string_view name);
  // Names with texts
  std::optional<std::vector<std::pair<std::string, std::string>>> Pairs(std::string_view name);
  // Any value, which the caller checks; null if the field is absent.
  const nlohmann::json* Any(std::string_view name);

  // Reads a field that may only say what happens anyway, such as "n": 1; any other value is
  // UNSUPPORTED_PARAMETER.
  void Only(std::string_view name, const nlohmann::json& value);

  // Returns the path of a field of the object.
  std::string PathOf(std::string_view name) const;
  // Notes an error about a field. The first one stays.
  void Refuse(std::string_view name, std::string_view what);
  void RefuseUnsupported(std::string_view name, std::string_view what);
  void Note(absl::Status status);

  bool ok() const { return status_.ok(); }
  // Refuses fields that were not read and are not null, and returns the first error.
  absl::Status Finish();

 private:
  const nlohmann::json& object_;
  const std::string path_;
  std::set<std::string, std::less<>> read_;
  absl::Status status_;
};

}  // namespace ruvd::openai
