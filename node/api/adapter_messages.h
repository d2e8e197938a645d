// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "inference/adapter/talora.h"
#include "node/serving/adapter_catalog.h"
#include "ruvd/adapter/v1/adapter.pb.h"

namespace ruvd::api {

// Adapters as messages of ruvd.adapter.v1.

void WriteAdapter(const serving::CatalogEntry& entry, adapter::v1::Adapter* message);

// Every changed matrix, part by part.
void WriteTargets(const inference::Talora& talora, adapter::v1::GetAdapterResponse* response);

// Part by part, where one of the two has it: the trunks, then bank by bank.
void WriteDifference(const inference::Talora& a, const inference::Talora& b,
                     adapter::v1::DiffAdaptersResponse* response);

}  // namespace ruvd::api
