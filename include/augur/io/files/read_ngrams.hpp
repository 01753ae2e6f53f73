#pragma once
// Reads the n-gram table of a GGUF file.

#include <augur/draft/ngram_table.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/io/files/taken_tensors.hpp>
#include <augur/io/files/tensor.hpp>
#include <augur/types/error.hpp>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io {

namespace detail {

/// The whole numbers of a tensor of `slots` of them.
inline std::vector<std::int32_t> read_slots(const gguf_view& file, std::string_view name, std::uint64_t slots) {
    static_assert(std::endian::native == std::endian::little);
    const tensor_view& tensor = file.tensor(name);
    if (tensor.type != tensor_type::i32 || tensor.shape.size() != 1 || tensor.shape[0] != slots) {
        augur::detail::fail(file.path().string(), ": tensor ", quote(name), " is ", name_of(tensor.type), " of shape ",
                            shape_text(tensor.shape), ", but augur.ngram.slots asks for i32 of {", slots, "}");
    }
    std::vector<std::int32_t> values(tensor.bytes.size() / sizeof(std::int32_t));
    tensor.read(0, std::as_writable_bytes(std::span(values)));
    return values;
}

}  // namespace detail

/// Reads and checks a draft checkpoint of kind `ngram`: see docs/io/read_ngrams.md for what it holds. The file is
/// untrusted. Throws augur::error, naming the file, where it is no such draft checkpoint, a key or a tensor is missing
/// or of another type or size, or the table is not one that can be searched (draft::ngram_table). Nothing refers to the
/// file afterwards.
inline draft::ngram_table read_ngrams(const gguf_view& file, std::size_t vocabulary_size) {
    const std::string origin = file.path().string();
    const auto member = file.get_or<std::string>("augur.member", "");
    if (member != "ngram") augur::detail::fail(origin, ": augur.member is ", quote(member), ", not 'ngram'");
    const draft::ngram_orders orders{.shortest = file.get<std::uint32_t>("augur.ngram.order_min"),
                                     .longest = file.get<std::uint32_t>("augur.ngram.order_max"),
                                     .vocabulary_size = vocabulary_size};
    const auto slots = file.get<std::uint64_t>("augur.ngram.slots");
    auto check = detail::read_slots(file, "augur.ngram.check", slots);
    auto next = detail::read_slots(file, "augur.ngram.next", slots);
    taken_tensors taken;
    for (const char* name : {"augur.ngram.check", "augur.ngram.next"}) taken.take(name);
    taken.check_none_left(file);
    try {
        return {orders, std::move(check), std::move(next)};
    } catch (const error& refused) {
        augur::detail::fail(origin, ": ", refused.what());
    }
}

}  // namespace augur::io
