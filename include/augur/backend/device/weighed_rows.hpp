#pragma once
// Rows as criteria and drawings need them: scanned, cut and weighed, by the launches that the settings ask for.

#include <cstddef>

#include "augur/backend/device/row_cut.hpp"
#include "augur/backend/device/row_weights.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/detail/chunks.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"

namespace augur::backend::device {

/// Refuses what a kernel cannot do: a mask is a function of the host.
inline void check_kernel_settings(const transform::settings& chosen, std::size_t vocabulary_size) {
    const transform::pipeline checked(chosen, vocabulary_size);
    if (chosen.mask) {
        augur::detail::fail(
            "settings.mask edits logits on the host, but these rows lie in device memory; use "
            "accept::walk with transform::pipeline and rows that are brought there");
    }
}

/// What is said of up to `most_rows` rows at a time, with the system's memory for it, taken at construction: 16 bytes
/// per row and chunk, above temperature 0 eight more, and 12 per row where something is cut. Cost: a launch, two above
/// temperature 0, one more for cuts.
template <System S>
class weighed_rows {
 public:
    weighed_rows(const S& on, const transform::settings& chosen, std::size_t vocabulary_size, std::size_t most_rows)
        : on_(on), cut_(chosen, vocabulary_size) {
        check_kernel_settings(chosen, vocabulary_size);
        const std::size_t chunks = most_rows * augur::detail::chunks_in(vocabulary_size);
        scans_ = buffer<augur::detail::row_scan, S>(on, chunks);
        if (cut_.temperature > 0) sums_ = buffer<double, S>(on, chunks);
        if (cut_.active()) cuts_ = buffer<row_cut, S>(on, most_rows);
    }

    /// Launches. What it says is of these rows until the next ones.
    void prepare(const rows_view& of) const {
        const scan_rows scan{of, scans_.data()};
        on_.launch(scan.blocks(), scan);
        if (cut_.active()) {
            const cut_rows cut{of, scans_.data(), cut_, cuts_.data()};
            on_.launch(cut.blocks(), cut);
        }
        if (cut_.temperature > 0) {
            const weigh_rows weigh{of, scans_.data(), cut_.temperature, sums_.data(), cuts_.data()};
            on_.launch(weigh.blocks(), weigh);
        }
    }

    float temperature() const { return cut_.temperature; }
    /// Of each chunk of each row.
    const augur::detail::row_scan* scans() const { return scans_.data(); }
    /// The same; null at temperature 0.
    const double* sums() const { return sums_.data(); }
    /// Of each row; null where nothing is cut.
    const row_cut* cuts() const { return cuts_.data(); }
    std::size_t memory_bytes() const { return scans_.memory_bytes() + sums_.memory_bytes() + cuts_.memory_bytes(); }

 private:
    S on_;
    cut_settings cut_;
    buffer<augur::detail::row_scan, S> scans_;
    buffer<double, S> sums_;
    buffer<row_cut, S> cuts_;
};

}  // namespace augur::backend::device
