#pragma once
// Counts what a program allocates with operator new, and lets it fail (failing_allocations.hpp). To be included by one
// file of a test program: it replaces the operators. They stay functions of their own, as g++ takes a free() inlined
// into a delete for a mistake.

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <failing_allocations.hpp>
#include <new>

namespace allocations {
inline std::atomic<std::size_t> made = 0;

inline void* counted_or_null(std::size_t size, std::size_t alignment) noexcept {
    ++made;
    if (fails()) return nullptr;
    const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
    return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}
inline void* counted(std::size_t size, std::size_t alignment) {
    if (void* memory = counted_or_null(size, alignment)) return memory;
    throw std::bad_alloc();
}
}  // namespace allocations

[[gnu::noinline]] void* operator new(std::size_t size) {
    return allocations::counted(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocations::counted(size, static_cast<std::size_t>(alignment));
}
// std::stable_sort and its like ask so for their buffers.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return allocations::counted_or_null(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
