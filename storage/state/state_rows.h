// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Keys of the family `state`. A head's key is the name and a zero byte; a chunk's key goes on with
// the epoch and the chunk's number. No name has a zero byte, so all rows of a name are neighbours,
// the head first.
namespace ruvd::storage::state_rows {

std::string HeadKey(std::string_view name);
std::string ChunkKey(std::string_view name, uint64_t epoch, uint32_t chunk);
// Returns the first key after all rows of the name.
std::string EndOfName(std::string_view name);

struct ParsedKey {
  std::string_view name;  // a view into the key
  // nullopt: a head
  struct Place {
    uint64_t epoch = 0;
    uint32_t chunk = 0;
    bool operator==(const Place&) const = default;
  };
  std::optional<Place> chunk = std::nullopt;
};
// Returns nullopt for bytes that are not a key of this family.
std::optional<ParsedKey> ParseKey(std::string_view key);

}  // namespace ruvd::storage::state_rows
