// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/masked/conduct.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace ruvd::federation {
namespace {

void Increment(uint8_t& count) {
  count += count < std::numeric_limits<uint8_t>::max() ? 1 : 0;
}

uint32_t StrikesOf(const ConductMark& mark) {
  return uint32_t{mark.failures} + mark.withheld;
}

ConductMark& MarkOf(const privacy::NodeId& member, Conduct* conduct) {
  ConductMark& mark = (*conduct)[member];
  mark.member = member;
  return mark;
}

void AddFailure(uint64_t round, uint8_t& count, ConductMark& mark) {
  Increment(count);
  mark.round = round;
  mark.sums = 0;
}

void LeaveOut(uint64_t round, ConductMark& mark) {
  uint64_t rounds = 1;
  for (uint32_t strike = 0; strike < StrikesOf(mark) && rounds < limits::kMaxRoundsOut; ++strike) {
    rounds *= 2;
  }
  mark.out_until = std::max(mark.out_until, round + 1 + rounds);
}

void AddSum(const GroupOutcome& outcome, uint64_t round, Conduct* conduct) {
  for (const privacy::NodeId& member : outcome.members) {
    const auto mark = conduct->find(member);
    if (mark != conduct->end() && mark->second.round < round) {
      Increment(mark->second.sums);
    }
  }
}

void AddWithheld(const GroupOutcome& outcome, uint64_t round, Conduct* conduct) {
  for (const privacy::NodeId& member : outcome.withheld) {
    ConductMark& mark = MarkOf(member, conduct);
    AddFailure(round, mark.withheld, mark);
    LeaveOut(round, mark);
  }
}

void AddImpossible(const GroupOutcome& outcome, uint64_t round, Conduct* conduct) {
  uint8_t most = 0;
  std::vector<privacy::NodeId> suspects;
  for (const privacy::NodeId& member : outcome.members) {
    const auto mark = conduct->find(member);
    const uint8_t failures = mark == conduct->end() ? uint8_t{0} : mark->second.failures;
    if (failures > most) {
      most = failures;
      suspects.clear();
    }
    if (failures == most) {
      suspects.push_back(member);
    }
  }
  for (const privacy::NodeId& member : suspects) {
    ConductMark& mark = MarkOf(member, conduct);
    AddFailure(round, mark.failures, mark);
    if (suspects.size() == 1) {
      LeaveOut(round, mark);
    }
  }
}

// Returns the largest value that more than a third of `said` reach; voters that are not in it say
// 0.
template <typename T>
T ReachedByAThird(std::vector<T> said, size_t voters) {
  const size_t needed = voters / 3 + 1;
  if (said.size() < needed) {
    return T{0};
  }
  std::ranges::sort(said, std::greater<>());
  return said[needed - 1];
}

template <typename T>
T FieldByVotes(std::span<const ConductMark* const> marks, T ConductMark::* field, size_t voters) {
  std::vector<T> said;
  for (const ConductMark* mark : marks) {
    said.push_back(mark->*field);
  }
  return ReachedByAThird(std::move(said), voters);
}

}  // namespace

bool IsLeftOut(const Conduct& conduct, const privacy::NodeId& member, uint64_t round) {
  const auto mark = conduct.find(member);
  return mark != conduct.end() && round < mark->second.out_until;
}

bool IsOnProbation(const Conduct& conduct, const privacy::NodeId& member) {
  const auto mark = conduct.find(member);
  if (mark == conduct.end()) {
    return false;
  }
  uint32_t needed = limits::kFirstProbation;
  for (uint32_t strike = 1; strike < StrikesOf(mark->second) && needed < limits::kMaxProbation;
       ++strike) {
    needed *= limits::kProbationGrowth;
  }
  return mark->second.sums < std::min(needed, limits::kMaxProbation);
}

Conduct ConductByVotes(std::span<const std::vector<ConductMark>> votes) {
  std::map<privacy::NodeId, std::vector<const ConductMark*>> said;
  for (const std::vector<ConductMark>& vote : votes) {
    for (const ConductMark& mark : vote) {
      said[mark.member].push_back(&mark);
    }
  }
  Conduct conduct;
  for (const auto& [member, marks] : said) {
    const ConductMark mark{
        .member = member,
        .round = FieldByVotes(std::span(marks), &ConductMark::round, votes.size()),
        .out_until = FieldByVotes(std::span(marks), &ConductMark::out_until, votes.size()),
        .failures = FieldByVotes(std::span(marks), &ConductMark::failures, votes.size()),
        .withheld = FieldByVotes(std::span(marks), &ConductMark::withheld, votes.size()),
        .sums = FieldByVotes(std::span(marks), &ConductMark::sums, votes.size())};
    if (StrikesOf(mark) > 0) {
      conduct.emplace(member, mark);
    }
  }
  return conduct;
}

void AddOutcomes(std::span<const GroupOutcome> outcomes, uint64_t round, Conduct* conduct) {
  for (const GroupOutcome& outcome : outcomes) {
    if (outcome.summed) {
      AddSum(outcome, round, conduct);
    } else if (!outcome.withheld.empty()) {
      AddWithheld(outcome, round, conduct);
    } else {
      AddImpossible(outcome, round, conduct);
    }
  }
}

void ForgetOldConduct(uint64_t round, Conduct* conduct) {
  std::erase_if(*conduct, [round](const auto& entry) {
    const ConductMark& mark = entry.second;
    // A mark of the future comes from members whose clocks are wrong.
    return mark.round >= round || mark.out_until > round + limits::kMaxRoundsOut ||
           std::max(mark.round, mark.out_until) + limits::kConductRounds < round;
  });
  // Otherwise a few liars could drive out the mark of one that fails often.
  std::set<std::tuple<uint32_t, uint64_t, privacy::NodeId>> by_weight;
  for (const auto& [member, mark] : *conduct) {
    by_weight.emplace(StrikesOf(mark), mark.round, member);
  }
  while (conduct->size() > limits::kMaxConductMarks) {
    conduct->erase(std::get<privacy::NodeId>(*by_weight.begin()));
    by_weight.erase(by_weight.begin());
  }
}

}  // namespace ruvd::federation
