// Random numbers made on a GPU, and what the host makes of them.
#include <augur/backend/device/cuda_system.hpp>
#include "../../benchmarks/gpu/synthetic.hpp"
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <span>
#include <vector>

BOOST_AUTO_TEST_SUITE(gpu_synthetic)

namespace {

using namespace augur::backend::device;
using augur::benchmarks::filler, augur::benchmarks::matrix_name, augur::benchmarks::random_matrix;

template <class T>
std::vector<std::byte> brought(const cuda_system& on, const T* from, std::size_t size) {
    std::vector<std::byte> out(size * sizeof(T));
    on.download(out.data(), from, out.size());
    return out;
}

template <class Element>
void check_equal(const cuda_system& on, const tiled_view<Element>& a, const tiled_view<Element>& b) {
    const std::size_t size = a.tiles() * tile_layout::fragments;
    BOOST_TEST((brought(on, a.fragments, size) == brought(on, b.fragments, size)));
}

template <class Element, unsigned Bits>
void check_equal(const cuda_system& on, const quantised_view<Element, Bits>& a,
                 const quantised_view<Element, Bits>& b) {
    const std::size_t lanes = a.tiles() * warp_size;
    BOOST_TEST((brought(on, a.integers, lanes) == brought(on, b.integers, lanes)));
    BOOST_TEST((brought(on, a.scales, a.tiles()) == brought(on, b.scales, a.tiles())));
}

template <class Matrix>
void check(std::size_t rows, std::size_t depth, float gain) {
    using Element = typename Matrix::view_type::element;
    const auto on = cuda_system::with_stream();
    const random_matrix from(3, matrix_name::down, 1, rows, depth, gain);
    const Matrix got(on, rows, depth), wanted(on, rows, depth, [&](std::size_t row, std::span<float> out) {
        for (std::size_t k = 0; k < depth; ++k) out[k] = Element::of(from.four(row, k / 4 * 4)[k % 4]).value();
    });
    on.launch(got.view().panels, filler(from, got));
    check_equal(on, got.view(), wanted.view());
}

/// Sizes of tiles and others, scales that are normal in binary16 and some that are not.
template <class Element>
void check_all() {
    for (const float gain : {1.0f, 0.01f}) {
        check<tiled_matrix<Element, cuda_system>>(331, 1537, gain);
        check<quantised_matrix<Element, 8, cuda_system>>(576, 1536, gain);
        check<quantised_matrix<Element, 8, cuda_system>>(331, 1537, gain);
        check<quantised_matrix<Element, 4, cuda_system>>(576, 1536, gain);
        check<quantised_matrix<Element, 4, cuda_system>>(331, 1537, gain);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(matrices_have_the_bits_that_the_host_makes) {
    check_all<bfloat16>();
    check_all<binary16>();
}

BOOST_AUTO_TEST_SUITE_END()
