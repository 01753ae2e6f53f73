#pragma once
// Injection points of a decoding that can be made to throw, one after another.

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace augur::testing {

/// What a place throws.
struct injected_fault : std::exception {
    injected_fault(std::size_t call, std::string_view where) : number(call), place(where) {}
    const char* what() const noexcept override { return "an injected fault"; }

    std::size_t number;      ///< of the call, since the plan was armed
    std::string_view place;  ///< that was named
};

/// Which calls throw: `count` of them from number `first` on, before or after what they do.
struct fault_plan {
    std::size_t first = 0;
    std::size_t count = 0;
    bool after = false;
    bool callers = false;  ///< places of the caller are counted, too: on_token and watchers
};

/// Counts the calls of all places that share it, and makes those throw that the plan says. Copies share the count. A
/// model is made to fail by failing(model, faults); anything else, an engine, a drafter, a policy of one's own, says
/// where it may: `faults.call("learn", [&] { ... })`. For one thread at a time.
class faults {
 public:
    /// What `act` returns; throws before or after it where the plan says so. The name must outlive everything.
    template <class Act>
    auto call(std::string_view place, const Act& act) const {
        const bool here = is_next(false);
        if (here && !shared_->plan.after) raise(place);
        if constexpr (std::is_void_v<decltype(act())>) {
            act();
            if (here) raise(place);
        } else {
            auto result = act();
            if (here) raise(place);
            return result;
        }
    }
    /// A place of the caller, of a plan that counts them.
    void call_back(std::string_view place) const {
        if (is_next(true)) raise(place);
    }

    /// Counting begins anew.
    void arm(const fault_plan& plan) const { *shared_ = {.plan = plan}; }
    void disarm() const { shared_->plan.count = 0; }
    std::size_t calls() const { return shared_->calls; }
    std::size_t thrown() const { return shared_->thrown; }
    /// The first thrown since this was asked last; nothing where `number` is none().
    injected_fault take_first() const { return std::exchange(shared_->first, none()); }
    static injected_fault none() { return injected_fault(static_cast<std::size_t>(-1), ""); }

 private:
    struct state {
        fault_plan plan{};
        std::size_t calls = 0;
        std::size_t thrown = 0;
        injected_fault first = none();
    };

    bool is_next(bool is_caller) const {
        state& s = *shared_;
        if (is_caller && !s.plan.callers) return false;
        const std::size_t number = s.calls++;
        return number >= s.plan.first && number - s.plan.first < s.plan.count;
    }
    [[noreturn]] void raise(std::string_view place) const {
        const injected_fault fault(shared_->calls - 1, place);
        ++shared_->thrown;
        if (shared_->first.number == none().number) shared_->first = fault;
        throw fault;
    }

    std::shared_ptr<state> shared_ = std::make_shared<state>();
};

/// How a test program lets memory fail: it replaces operator new, which no header can do for it. Smallest:
/// tests/allocations.hpp.
struct allocation_hook {
    /// The allocations of this thread from here on are numbered from 0; `count` of them from number `first` on throw
    /// std::bad_alloc.
    std::function<void(std::size_t first, std::size_t count)> arm{};
    /// None throws any more. Returns how many there were since arm().
    std::function<std::size_t()> disarm{};

    explicit operator bool() const { return static_cast<bool>(arm); }
};

}  // namespace augur::testing
