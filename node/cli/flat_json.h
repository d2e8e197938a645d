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

// An object of JSON whose values are texts, numbers and truth values: no lists, no objects in it.
class FlatJson {
 public:
  // The object in `text`, which is all there is. The error's message says what is wrong and at
  // which byte; it has no reason yet. Memory is bounded by the text.
  static absl::StatusOr<FlatJson> Parse(std::string_view text);

  // The value of `key`, which is taken out. A missing key gives `otherwise`, or an error where
  // there is none; another type or a number out of range is an error that names the key.
  absl::StatusOr<std::string> TakeText(const std::string& key, const char* otherwise = nullptr);
  absl::StatusOr<int64_t> TakeInteger(const std::string& key, int64_t least, int64_t most);
  absl::StatusOr<double> TakeNumber(const std::string& key);
  bool Has(const std::string& key) const { return values_.contains(key); }

  // An error that names a key which nobody took.
  absl::Status CheckAllTaken() const;

 private:
  using Value = std::variant<std::string, int64_t, uint64_t, double, bool>;
  class Handler;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace ruvd::cli
