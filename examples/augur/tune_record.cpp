#include "tune_record.hpp"

#include <algorithm>

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;

}  // namespace

json as_json(const search_outcome& search) {
    const auto place_of = [&](std::size_t candidate) {
        const auto& all = search.standings;
        const auto is_it = [&](const tune::standing& each) { return each.candidate == candidate; };
        return static_cast<std::size_t>(std::find_if(all.begin(), all.end(), is_it) - all.begin());
    };
    json rungs = json::array(), front = json::array(), candidates = json::array();
    for (const tune::rung& each : search.rungs) {
        rungs.push_back({{"candidates", each.candidates}, {"prompts", each.problems}});
    }
    for (const std::size_t candidate : search.front) front.push_back(place_of(candidate));
    for (const tune::standing& each : search.standings) {
        candidates.push_back({{"settings", search.candidates.at(each.candidate)},
                              {"prompts", each.problems},
                              {"tokens", each.measured.tokens},
                              {"seconds", each.measured.seconds},
                              {"plain_seconds", each.measured.plain_seconds},
                              {"speedup", each.measured.speedup()},
                              {"divergence", each.measured.divergence_per_token()}});
    }
    return {{"scheme", search.scheme}, {"task", search.task}, {"rungs", rungs},
            {"within", search.within}, {"front", front},      {"chosen", place_of(search.chosen)},
            {"candidates", candidates}};
}

}  // namespace augur::program
