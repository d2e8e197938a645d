// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace ruvd {

// Members that wait for something scarce, by the source that they came from. One that has to leave
// is the oldest of the source with the most members, so that a source which sends many harms
// itself. Not thread-safe.
template <typename Member, typename Source>
class Crowd {
 public:
  // Adds a member, which is not in the crowd, as the newest.
  void Add(const Member& member, const Source& source) {
    const uint64_t number = ++last_;
    places_.emplace(member, std::pair(source, number));
    sources_[source].emplace(number, member);
  }
  // Does nothing for a member that is not there.
  void Remove(const Member& member) {
    const auto place = places_.find(member);
    if (place == places_.end()) {
      return;
    }
    const auto source = sources_.find(place->second.first);
    source->second.erase(place->second.second);
    if (source->second.empty()) {
      sources_.erase(source);
    }
    places_.erase(place);
  }
  bool Contains(const Member& member) const { return places_.contains(member); }
  size_t size() const { return places_.size(); }
  size_t CountOf(const Source& source) const {
    const auto found = sources_.find(source);
    return found == sources_.end() ? 0 : found->second.size();
  }

  // Returns the oldest member of a source; nullopt if it has none.
  std::optional<Member> OldestOf(const Source& source) const {
    const auto found = sources_.find(source);
    return found == sources_.end() ? std::nullopt
                                   : std::optional<Member>(found->second.begin()->second);
  }
  // Returns the oldest member of the source with the most members, and of several such sources of
  // that with the oldest member; nullopt for an empty crowd.
  std::optional<Member> OldestOfMost() const {
    const auto waits_less = [](const auto& a, const auto& b) {
      const auto& [members_a, members_b] = std::pair(&a.second, &b.second);
      return members_a->size() != members_b->size()
                 ? members_a->size() < members_b->size()
                 : members_a->begin()->first > members_b->begin()->first;
    };
    const auto most = std::max_element(sources_.begin(), sources_.end(), waits_less);
    return most == sources_.end() ? std::nullopt
                                  : std::optional<Member>(most->second.begin()->second);
  }
  // Calls `visit` with every member.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& [member, place] : places_) {
      visit(member);
    }
  }

 private:
  std::map<Member, std::pair<Source, uint64_t>> places_;
  std::map<Source, std::map<uint64_t, Member>> sources_;  // by age
  uint64_t last_ = 0;
};

}  // namespace ruvd
