// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"

namespace ruvd::cli {

// A JSON object whose values are texts, numbers and truth values, without lists and without inner
// objects.
class FlatJson {
 public:
  // Reads the object in `text`, which must contain nothing else. The error's message says what is
  // wrong and at which byte; it carries no reason code yet. The memory that this takes is bounded
  // by the size of the text.
  static absl::StatusOr<FlatJson> Parse(std::string_view text);

  // Removes `key` and returns its value. A missing key gives `otherwise`, or an error if
  // `otherwise` is null. A value of another type or out of range is an error that names the key.
  absl::StatusOr<std::string> TakeText(const std::string& key, const char* otherwise = nullptr);
  absl::StatusOr<int64_t> TakeInteger(const std::string& key, int64_t least, int64_t most);
  absl::StatusOr<double> TakeNumber(const std::string& key);
  bool Has(const std::string& key) const { return values_.contains(key); }

  // Returns an error that names a key that is still there, if one is.
  absl::Status CheckAllTaken() const;

 private:
  using Value = std::variant<std::string, int64_t, uint64_t, double, bool>;
  class Handler;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace ruvd::cli
