#pragma once
// The work items that a suspended round waits for.

#include <algorithm>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"

namespace augur::flow {

/// A work item that is done for a round while the round is suspended: passes of a model, mostly (model/pass_work.hpp).
/// It is done once: by run(), together with others of its kind by run_together(), or by code that knows its type and
/// answers it.
class work {
 public:
    work(const work&) = delete;
    work& operator=(const work&) = delete;

    /// Whether both can be done together: the same kind of work for the same model.
    bool goes_with(const work& other) const { return does_ == other.does_ && subject_ == other.subject_; }

    bool done() const { return done_; }
    /// Does it. What the model throws is kept, and thrown where the round goes on.
    void run() noexcept {
        work* const alone = this;
        run_together({&alone, 1});
    }
    /// The same where its round goes on before anything else is run: what a model has made need not be copied.
    void run_and_go_on() noexcept {
        goes_on_at_once_ = true;
        run();
    }
    /// Does all of them at once. Where that throws each is done alone, so that none fails for another; who does one
    /// alone takes back what is left of it. Refuses those
    /// that do not go with each other; nothing is done then.
    static void run_together(std::span<work* const> all);

 protected:
    /// Does all of a kind and subject; throws, or leaves all done.
    using function = void (*)(std::span<work* const>);

    /// `kind`: an address by which those who know the type find it.
    work(const void* subject, function does, const void* kind = nullptr)
        : subject_(subject), does_(does), kind_(kind) {}
    ~work() = default;

    static const void* kind_of(const work& of) { return of.kind_; }
    void set_done() { done_ = true; }
    bool goes_on_at_once() const { return goes_on_at_once_; }
    /// Where the round goes on.
    void check() const {
        if (!done_) augur::detail::fail("a round was resumed before what it waits for was done");
        if (failure_) std::rethrow_exception(failure_);
    }

 private:
    const void* subject_;
    function does_;
    const void* kind_;
    bool done_ = false;
    bool goes_on_at_once_ = false;
    std::exception_ptr failure_;
};

inline void work::run_together(std::span<work* const> all) {
    if (all.empty()) return;
    for (std::size_t i = 1; i < all.size(); ++i) {
        if (all[i]->goes_with(*all.front())) continue;
        augur::detail::fail("run_together: of ", all.size(), " passes the first is of the model at ",
                            all.front()->subject_, ", but number ", i, " of the one at ", all[i]->subject_,
                            ", or another kind of work");
    }
    try {
        all.front()->does_(all);
    } catch (...) {
        if (all.size() > 1) {
            for (work* each : all) each->run();
            return;
        }
        all.front()->failure_ = std::current_exception();
    }
    for (work* each : all) each->done_ = true;
}

/// Does all of them, those that go with each other at once; in the order of the first of each kind. Allocates nothing.
inline void run_all(std::span<work*> all) noexcept {
    while (!all.empty()) {
        const work& first = *all.front();
        auto rest = all.begin();
        for (auto at = all.begin(); at != all.end(); ++at) {
            if (!(*at)->goes_with(first)) continue;
            work* const next = *at;
            std::copy_backward(rest, at, at + 1);
            *rest++ = next;
        }
        const auto size = static_cast<std::size_t>(rest - all.begin());
        work::run_together(all.first(size));
        all = all.subspan(size);
    }
}

}  // namespace augur::flow
