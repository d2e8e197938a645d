// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ruvd::test {

// The flags of the program `world`, as they were passed.
struct WorldArguments {
  size_t nodes = 20;
  std::string seeds = "1..20";
  double hours = WorldOptions().hours;
  std::optional<double> loss;
  std::optional<size_t> items;
  size_t contacts = WorldOptions().contacts;
  double undialable = WorldOptions().undialable;
  std::vector<std::string> byzantine;
  std::optional<std::string> faults;
  std::optional<bool> established;
  std::optional<bool> learning;
  std::optional<bool> masked;
  std::string signatures;  // empty: not chosen
  bool json = false;
};

// Adds the flags of `arguments`, which must outlive `app`.
void AddFlags(CLI::App& app, WorldArguments& arguments);

// Returns the options of one world, except for its seed. Options that the flags leave to the seed
// stay unset. Throws CLI::ValidationError.
WorldOptions OptionsOf(const WorldArguments& arguments);
bool WithSimulatedSignatures(const WorldArguments& arguments);

struct SeedRange {
  uint64_t first = 0;
  uint64_t last = 0;
};

// Throws CLI::ValidationError.
SeedRange ParseSeeds(const std::string& text);

}  // namespace ruvd::test
