#pragma once
// A record as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing open.

#include <nlohmann/json.hpp>

namespace augur::program {

/// Trace events in microseconds: of each round complete events on the tracks rounds, draft, verify, accept and commit;
/// counters of acceptance, length and tokens per pass; a span for each turn of a model or tree; the plain run, where
/// there is one, as a process of its own.
nlohmann::ordered_json events_of(const nlohmann::ordered_json& record);

}  // namespace augur::program
