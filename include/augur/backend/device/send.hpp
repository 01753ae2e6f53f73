#pragma once
// Copies a few values to device memory as kernel parameters.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "augur/backend/device/system.hpp"

namespace augur::backend::device {

/// Kernel: writes its bytes to the system's memory.
struct send_bytes {
    static constexpr unsigned threads = most_threads;
    static constexpr std::size_t most = 2048;  ///< of the 4096 bytes that parameters of a kernel may have on every GPU

    std::array<std::byte, most> bytes;
    std::byte* to;
    std::uint32_t count;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            for (std::uint32_t i = thread; i < count; i += threads) to[i] = bytes[i];
        });
    }
};

/// The values, from now, to `to` in the system's memory: a launch for each 2048 bytes, in order with others. Nothing is
/// allocated or waited for, and `values` may be changed at once; a recording holds the values as they were when it was
/// made.
template <System S, class T>
void send(const S& on, T* to, std::type_identity_t<std::span<const T>> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto from = std::as_bytes(values);
    for (std::size_t sent = 0; sent < from.size(); sent += send_bytes::most) {
        const auto part = from.subspan(sent, std::min(send_bytes::most, from.size() - sent));
        send_bytes kernel{};
        std::memcpy(kernel.bytes.data(), part.data(), part.size());
        kernel.to = reinterpret_cast<std::byte*>(to) + sent;
        kernel.count = static_cast<std::uint32_t>(part.size());
        on.launch(1, kernel);
    }
}

}  // namespace augur::backend::device
