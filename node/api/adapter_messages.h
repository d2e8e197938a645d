// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "inference/adapter/talora.h"
#include "node/serving/adapter_catalog.h"
#include "ruvd/adapter/v1/adapter.pb.h"

namespace ruvd::api {

// Converts adapters to messages of ruvd.adapter.v1.

void WriteAdapter(const serving::CatalogEntry& entry, adapter::v1::Adapter* message);

// Writes every changed matrix, part by part.
void WriteTargets(const inference::Talora& talora, adapter::v1::GetAdapterResponse* response);

// Writes the difference for each part that at least one of the two adapters has: first the trunks,
// then bank by bank.
void WriteDifference(const inference::Talora& a, const inference::Talora& b,
                     adapter::v1::DiffAdaptersResponse* response);

}  // namespace ruvd::api
