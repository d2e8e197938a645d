// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/terminal/verb.h"

#include <CLI/CLI.hpp>

namespace ruvd::cli {

Flag Flag::Required() {
  option_->required();
  return *this;
}

Flag Flag::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

Flag Flag::OneOf(std::vector<std::string> names) {
  option_->check(CLI::IsMember(std::move(names)));
  return *this;
}

Flag Flag::InRange(int64_t lowest, int64_t highest) {
  option_->check(CLI::Range(lowest, highest));
  return *this;
}

Flag Flag::InRange(double lowest, double highest) {
  option_->check(CLI::Range(lowest, highest));
  return *this;
}

Flag Flag::Positive() {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Flag Flag::SeparatedBy(char separator) {
  option_->delimiter(separator);
  return *this;
}

Flag Flag::OneValueEach() {
  option_->allow_extra_args(false);
  return *this;
}

Flag Flag::ValueName(std::string name) {
  option_->type_name(std::move(name));
  return *this;
}

Flag Flag::Heading(std::string heading) {
  option_->group(heading);
  return *this;
}

Flag Flag::Excludes(const Flag& other) {
  option_->excludes(other.option_);
  return *this;
}

Flag Flag::Needs(const Flag& other) {
  option_->needs(other.option_);
  return *this;
}

bool Flag::given() const {
  return option_->count() > 0;
}

Flag Verb::Switch(const std::string& name, bool& variable, const std::string& help) {
  return Flag(*app_->add_flag(name, variable, help));
}

Flag Verb::SwitchFunction(const std::string& name, std::function<void(bool)> set,
                          const std::string& help) {
  // This is not add_flag, because CLI11 sets a flag that has a negation to false if neither form is
  // given.
  return Flag(*app_->add_flag_function(
      name, [set = std::move(set)](int64_t count) { set(count > 0); }, help));
}

Flag Verb::AddOption(const std::string& name, const FlagVariable& variable,
                     const std::string& help) {
  return Flag(
      *std::visit([&](auto* typed) { return app_->add_option(name, *typed, help); }, variable));
}

Flag Verb::AddOptionFunction(const std::string& name, const FlagSetter& set,
                             const std::string& help) {
  return Flag(*std::visit(
      [&]<typename T>(const std::function<void(const T&)>& typed) {
        return app_->add_option_function<T>(name, typed, help);
      },
      set));
}

}  // namespace ruvd::cli
