// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Keys and values of the node's state: a key that parses is made again from its parts, and a check
// of any bytes under any name ends.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/state/state_names.h"
#include "storage/state/state_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace rows = ruvd::storage::state_rows;
  const std::string_view bytes = ruvd::AsText({data, size});
  if (const auto key = rows::ParseKey(bytes)) {
    RUVD_CHECK(bytes == (key->chunk
                             ? rows::ChunkKey(key->name, key->chunk->epoch, key->chunk->chunk)
                             : rows::HeadKey(key->name)));
  }
  const size_t end = bytes.find('\n');
  if (end != std::string_view::npos) {
    ruvd::storage::state::CheckValue(bytes.substr(0, end), bytes.substr(end + 1)).IgnoreError();
  }
  return 0;
}
