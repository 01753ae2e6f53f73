#pragma once
// Uploads a host-side token mask as bits for rows in device memory.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "augur/backend/device/system.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/token.hpp"

namespace augur::backend::device {

/// What is removed from a row: a bit for each token, 32 to a word, the lowest first.
struct removed_tokens {
    const std::uint32_t* words = nullptr;

    static AUGUR_HOST_DEVICE std::size_t words_in(std::size_t vocabulary_size) { return (vocabulary_size + 31) / 32; }
    AUGUR_HOST_DEVICE bool contains(std::size_t token) const { return (words[token / 32] >> token % 32 & 1) != 0; }
};

/// What transform::settings' mask removes from up to `most_rows` rows, with memory for it, taken at construction:
/// vocabulary / 8 bytes per row in the system's memory and as much on the host, and there a row of floats. Without a
/// mask none. The mask is asked about a row of zeros, for the logits are not on the host. Cost: a call of the mask and
/// a look at its row for each row, on the host.
template <System S>
class row_masks {
 public:
    row_masks(const S& on, const transform::mask& asked, std::size_t vocabulary_size, std::size_t most_rows)
        : mask_(asked), words_(removed_tokens::words_in(vocabulary_size)) {
        if (!mask_) return;
        bits_ = buffer<std::uint32_t, S>(on, most_rows * words_);
        found_.resize(bits_.size());
        row_.resize(vocabulary_size);
    }

    bool active() const { return static_cast<bool>(mask_); }

    /// Asks what is removed from this row, which follows that text. Refuses a mask that does more than remove, and one
    /// that looks at logits.
    void ask(std::size_t row, const prefix& before) {
        std::fill(row_.begin(), row_.end(), 0.0f);
        mask_(row_, before);
        std::uint32_t* const words = found_.data() + row * words_;
        std::fill_n(words, words_, 0u);
        for (std::size_t i = 0; i < row_.size(); ++i) {
            if (row_[i] == 0) continue;
            if (row_[i] != -std::numeric_limits<float>::infinity()) {
                augur::detail::fail("settings.mask may only remove tokens, as -infinity, but after ", before.size(),
                                    " tokens it made the logit of token ", i, " ", row_[i], " where it was 0");
            }
            words[i / 32] |= 1u << i % 32;
        }
        if (!asked_twice_) check_that_logits_do_not_matter(row, before);
    }

    /// This row cannot be reached: all is removed from it, and the mask is not asked.
    void skip(std::size_t row) { std::fill_n(found_.data() + row * words_, words_, ~std::uint32_t{0}); }
    /// Whether a row lets this token through.
    bool allows(std::size_t row, token id) const {
        return !removed_tokens{found_.data() + row * words_}.contains(static_cast<std::size_t>(id));
    }

    /// Sends what was asked about the first rows.
    void upload(const S& on, std::size_t rows) const {
        on.upload(bits_.data(), found_.data(), rows * words_ * sizeof(std::uint32_t));
    }
    /// Where it lies, row after row; null without a mask.
    const std::uint32_t* bits() const { return bits_.data(); }
    std::size_t memory_bytes() const { return bits_.memory_bytes(); }

 private:
    /// By another row: each logit larger than the one before.
    void check_that_logits_do_not_matter(std::size_t row, const prefix& before) {
        std::iota(row_.begin(), row_.end(), 1.0f);
        mask_(row_, before);
        for (std::size_t i = 0; i < row_.size(); ++i) {
            const bool removed = row_[i] == -std::numeric_limits<float>::infinity();
            if (removed == allows(row, static_cast<token>(i))) {
                augur::detail::fail("settings.mask must not look at logits where rows stay on a device, but after ",
                                    before.size(), " tokens it ", removed ? "removes" : "leaves", " token ", i,
                                    " with logit ", i + 1, " and not with logit 0");
            }
        }
        asked_twice_ = true;
    }

    transform::mask mask_;
    std::size_t words_ = 0;
    buffer<std::uint32_t, S> bits_;
    std::vector<std::uint32_t> found_;
    std::vector<float> row_;
    bool asked_twice_ = false;
};

}  // namespace augur::backend::device
