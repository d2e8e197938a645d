// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// The library that parses the command line; only sources of this folder know it, because its header
// takes seconds to compile.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ruvd::cli {

// The variables that an option or argument may set. `size_t` is `uint64_t` here.
using FlagVariable =
    std::variant<std::string*, int*, int64_t*, uint32_t*, uint64_t*, float*, double*,
                 std::optional<std::string>*, std::optional<int>*, std::optional<int64_t>*,
                 std::optional<uint32_t>*, std::optional<uint64_t>*, std::optional<float>*,
                 std::optional<double>*, std::vector<std::string>*, std::vector<uint32_t>*,
                 std::vector<uint64_t>*, std::vector<float>*, std::vector<double>*>;

// An option, argument or flag of a verb. A copy stands for the same flag. The verb table must
// outlive it. Each method that sets a property returns the flag itself.
class Flag {
 public:
  explicit Flag(CLI::Option& option) : option_(&option) {}

  // The command line is wrong without it.
  Flag Required();
  // Help shows the present value of the variable as the default.
  Flag ShowDefault();
  // The value must be one of `names`.
  Flag OneOf(std::vector<std::string> names);
  // The value must lie between both bounds or be one of them.
  Flag InRange(int64_t lowest, int64_t highest);
  Flag InRange(int lowest, int highest) { return InRange(int64_t{lowest}, int64_t{highest}); }
  Flag InRange(double lowest, double highest);
  // The value must be a number above 0.
  Flag Positive();
  // One value may hold several, separated by `separator`.
  Flag SeparatedBy(char separator);
  // Each occurrence takes one value; without this, a list takes all arguments that follow.
  Flag OneValueEach();
  // Names the kind of value in help.
  Flag ValueName(std::string name);
  // Puts the flag under a heading of its own in help.
  Flag Heading(std::string heading);
  // Neither flag may be given with the other one.
  Flag Excludes(const Flag& other);
  // The flag may be given only with the other one.
  Flag Needs(const Flag& other);

  // Returns whether the command line had this flag.
  bool given() const;

 private:
  CLI::Option* option_;
};

// A verb, to which its flags are added. A copy stands for the same verb. Variables must live until
// the command line was parsed. Names of options and flags begin with "--", names of arguments do
// not. `help` is one line without a full stop.
class Verb {
 public:
  explicit Verb(CLI::App& app) : app_(&app) {}

  // Adds an option or argument that sets `variable`.
  template <typename T>
  Flag Option(const std::string& name, T& variable, const std::string& help) {
    return AddOption(name, FlagVariable(&variable), help);
  }
  // Adds an option whose value is handed to `set`; T is one of the types of FlagVariable.
  template <typename T>
  Flag OptionFunction(const std::string& name, std::function<void(const T&)> set,
                      const std::string& help) {
    return AddOptionFunction(name, FlagSetter(std::move(set)), help);
  }
  // Adds a flag without a value, which sets `variable` to true.
  Flag Switch(const std::string& name, bool& variable, const std::string& help);
  // Adds a flag that calls `set` with true. A name after an exclamation mark calls it with false:
  // `--on,!--off` makes two flags. Without a flag `set` is not called.
  Flag SwitchFunction(const std::string& name, std::function<void(bool)> set,
                      const std::string& help);

 private:
  using FlagSetter =
      std::variant<std::function<void(const std::string&)>, std::function<void(const uint32_t&)>,
                   std::function<void(const uint64_t&)>, std::function<void(const float&)>>;

  Flag AddOption(const std::string& name, const FlagVariable& variable, const std::string& help);
  Flag AddOptionFunction(const std::string& name, const FlagSetter& set, const std::string& help);

  CLI::App* app_;
};

}  // namespace ruvd::cli
