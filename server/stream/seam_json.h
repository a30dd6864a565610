// SPDX-License-Identifier: Apache-2.0
//
// The seam certificate as JSON and as text; documented in docs/API.md.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/stream/seam_ledger.h"

namespace gopmill {

nlohmann::ordered_json SeamTotalsJson(const SeamTotals& totals);
// The newest joins (kKeptSeams), one by one.
nlohmann::ordered_json SeamListJson(const SeamLog& log);
// The whole certificate as one JSON object: totals, the worst join, the newest ones.
std::string SeamsJson(const SeamTotals& totals, const SeamLog& log);

// "12 joins, 288 of 288 frames; ...", for people.
std::string SeamsText(const SeamTotals& totals);
// Each kind of violation in words; empty = none.
std::vector<std::string> SeamFindings(const SeamTotals& totals);
// A line for each of the newest joins, below one that names the columns.
std::vector<std::string> SeamTable(const SeamLog& log);
// A line for each of the newest joins that has a fault.
std::vector<std::string> FaultyJoins(const SeamLog& log);

}  // namespace gopmill
