// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/hnsw/checkpoint.h"

namespace ruvd::storage {
namespace {

using hnsw::kNoNode;

absl::Status Refused(std::string_view why) {
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "the checkpoint of the vector index {}; it is derived data: rebuild it", why);
}

}  // namespace

HnswCheckpointReader::HnswCheckpointReader(HnswIndex& index, uint32_t collection, uint64_t epoch)
    : index_(index), next_{.collection = collection, .epoch = epoch} {}

absl::Status HnswCheckpointReader::Add(uint8_t section, uint32_t chunk, std::string_view bytes) {
  if (failed_ || complete_ || section != next_.section || chunk != next_.chunk) {
    failed_ = true;
    return Refused("lacks a chunk or has one too many");
  }
  failed_ = true;  // until this chunk has been found valid
  ASSIGN_OR_RETURN(const hnsw::OpenedChunk opened, hnsw::OpenChunk(next_, bytes));
  if (section == 0) {
    RETURN_IF_ERROR(AddManifest(opened.payload));
  } else {
    RETURN_IF_ERROR(AddRecords(section - size_t{1}, opened.payload));
  }
  complete_ = opened.end.of_checkpoint;
  constexpr uint8_t kLastSection = 1 + hnsw::kMaxLevel;
  if (section == 0 ? !opened.end.of_section : section == kLastSection && !complete_) {
    return Refused("has two manifests or too many levels");
  }
  ++next_.chunk;
  if (opened.end.of_section) {
    ++next_.section;
    next_.chunk = 0;
    first_record_ = true;
  }
  failed_ = false;
  return absl::OkStatus();
}

absl::Status HnswCheckpointReader::AddManifest(std::string_view payload) {
  ASSIGN_OR_RETURN(manifest_, hnsw::DecodeManifest(payload));
  const HnswOptions& options = index_.options();
  if (manifest_.dimension != options.dimension || manifest_.metric != options.metric ||
      manifest_.m != options.m || manifest_.seed != options.seed) {
    return Refused("is of an index with other options");
  }
  staged_at_.assign(manifest_.nodes, kNoNode);
  return absl::OkStatus();
}

absl::Status HnswCheckpointReader::AddRecords(size_t level, std::string_view payload) {
  const size_t width = level == 0 ? 2 * size_t{manifest_.m} : size_t{manifest_.m};
  ASSIGN_OR_RETURN(std::vector<hnsw::NodeRecord> records,
                   hnsw::DecodeRecords(payload, level == 0, manifest_.nodes, width));
  for (hnsw::NodeRecord& record : records) {
    if (!std::exchange(first_record_, false) && record.node <= last_node_) {
      return Refused("has nodes out of order");
    }
    last_node_ = record.node;
    if (level == 0) {
      staged_at_[record.node] = static_cast<uint32_t>(staged_.size());
      staged_.push_back({.record = std::move(record)});
      continue;
    }
    const uint32_t at = staged_at_[record.node];
    // A node that was linked while the checkpoint was written may be on higher levels only.
    if (at != kNoNode && staged_[at].record.level >= level) {
      staged_[at].upper.resize(std::max(staged_[at].upper.size(), level));
      staged_[at].upper[level - 1] = std::move(record.links);
    }
  }
  return absl::OkStatus();
}

void HnswCheckpointReader::MapNodes() {
  std::vector<bool> taken(index_.core_.nodes.size(), false);
  mapped_.assign(manifest_.nodes, {});
  for (Staged& staged : staged_) {
    const hnsw::NodeRecord& record = staged.record;
    const uint32_t node = index_.NodeOf(record.label);
    if (!record.live || node == kNoNode || taken[node]) {
      continue;
    }
    const hnsw::NodeInfo& info = index_.core_.nodes.info(node);
    if (info.generation == record.generation && info.bank == record.bank &&
        info.level == record.level && index_.core_.pending.Get(node)) {
      staged.node = node;
      mapped_[record.node] = {node, record.bank, record.level};
      taken[node] = true;
    }
  }
}

const std::vector<uint32_t>& HnswCheckpointReader::LinksOf(const Staged& staged,
                                                           size_t level) const {
  static const std::vector<uint32_t> none;
  if (level == 0) {
    return staged.record.links;
  }
  return level <= staged.upper.size() ? staged.upper[level - 1] : none;
}

uint32_t HnswCheckpointReader::Target(uint32_t link, size_t level, uint8_t bank) const {
  const Mapped& mapped = mapped_[link];
  return mapped.bank == bank && mapped.level >= level ? mapped.node : kNoNode;
}

bool HnswCheckpointReader::ApplyLinks(const Staged& staged, size_t level) {
  std::vector<uint32_t> links;
  bool whole = true;
  for (const uint32_t link : LinksOf(staged, level)) {
    const uint32_t target = Target(link, level, staged.record.bank);
    whole = whole && target != kNoNode;
    if (target != kNoNode && target != staged.node) {
      links.push_back(target);
    }
  }
  index_.core_.nodes.Links(staged.node, level).Write(links);
  return whole;
}

void HnswCheckpointReader::RepairLinks(const Staged& staged, size_t level) {
  std::vector<uint32_t> candidates;
  for (const uint32_t link : LinksOf(staged, level)) {
    if (const uint32_t own = Target(link, level, staged.record.bank); own != kNoNode) {
      candidates.push_back(own);
      continue;
    }
    const uint32_t at = staged_at_[link];
    if (at == kNoNode) {
      continue;
    }
    for (const uint32_t further : LinksOf(staged_[at], level)) {
      if (const uint32_t node = Target(further, level, staged.record.bank); node != kNoNode) {
        candidates.push_back(node);
      }
    }
  }
  index_.linker_.Relink(staged.node, level, candidates);
}

void HnswCheckpointReader::SetEntries() {
  std::array<hnsw::EntryPoint, limits::kMaxBanks> best;
  for (const Staged& staged : staged_) {
    hnsw::EntryPoint& entry = best[staged.record.bank];
    if (staged.node != kNoNode && (entry.node == kNoNode || staged.record.level > entry.level)) {
      entry = {staged.node, staged.record.level};
    }
  }
  for (const hnsw::Manifest::Entry& entry : manifest_.entries) {
    const uint32_t node = Target(entry.node, 0, entry.bank);
    if (node != kNoNode && index_.core_.nodes.info(node).level == best[entry.bank].level) {
      best[entry.bank].node = node;
    }
  }
  for (size_t bank = 0; bank < best.size(); ++bank) {
    if (best[bank].node != kNoNode) {
      index_.core_.banks[bank].set_entry(best[bank]);
    }
  }
}

absl::StatusOr<HnswRestored> HnswCheckpointReader::Finish() {
  if (failed_ || !std::exchange(complete_, false)) {
    return Refused("is not complete");
  }
  hnsw::IndexCore& core = index_.core_;
  for (const hnsw::BankGraph& bank : core.banks) {
    RUVD_CHECK(bank.entry().node == kNoNode);  // otherwise rows were linked before
  }
  MapNodes();
  HnswRestored restored;
  std::vector<std::pair<const Staged*, size_t>> broken;
  for (const Staged& staged : staged_) {
    if (staged.node == kNoNode) {
      ++restored.missing;
      continue;
    }
    ++restored.linked;
    for (size_t level = 0; level <= staged.record.level; ++level) {
      if (!ApplyLinks(staged, level)) {
        broken.emplace_back(&staged, level);
      }
    }
  }
  for (const auto& [staged, level] : broken) {
    RepairLinks(*staged, level);
  }
  SetEntries();
  for (const Staged& staged : staged_) {
    if (staged.node != kNoNode) {
      core.in_graph.Set(staged.node, true);
      hnsw::Add(core.banks[staged.record.bank].linked, 1);
      index_.SetPending(staged.node, false);
    }
  }
  restored.orphans = index_.FindOrphans();
  restored.linked -= restored.orphans;
  return restored;
}

}  // namespace ruvd::storage
