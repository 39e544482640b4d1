// The C interface: distributes members and samples over threads, each of which runs a Worker; and autoregression.

#include <memory>
#include <vector>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "autoregression.h"
#include "identity.h"
#include "small.h"
#include "threads.h"
#include "uniform.h"
#include "worker.h"

namespace {

// Which members and samples a thread takes: whole members if there are enough of them, else parts of their batches.
struct Share {
    Index member, end, first, last;
};

std::vector<Share> shares_of(const Call &call, Index samples) {
    const Index blocks = (call.B + samples - 1) / samples, threads = std::max<Index>(1, call.threads);
    const Index parts = std::max<Index>(1, std::min(blocks, threads / call.E)), count = parts > 1 ? call.E * parts : std::min<Index>(threads, call.E);
    std::vector<Share> found;
    for (Index i = 0; i < count; ++i) {
        const Index part = i % parts, from = blocks * part / parts * samples, to = std::min<Index>(call.B, blocks * (part + 1) / parts * samples);
        found.push_back(parts > 1 ? Share{i / parts, i / parts + 1, from, to} : Share{call.E * i / count, call.E * (i + 1) / count, 0, call.B});
    }
    return found;
}

template <class Part>
void run(const Call &call, bool backward) {
    const std::vector<Share> shares = shares_of(call, Part::N);
    const bool whole = Index(shares.size()) <= call.E;  // no two threads have a member in common
    std::vector<std::unique_ptr<Part>> parts;
    for (const Share &share : shares) parts.push_back(std::make_unique<Part>(call, share.first, share.last, backward));
    in_threads(shares.size(), [&](size_t i) {
        for (Index member = shares[i].member; member < shares[i].end; ++member) {
            backward ? parts[i]->backward(member) : parts[i]->forward(member);
            if (backward && whole) parts[i]->reduce(true);
        }
    });
    for (size_t i = 0; i < parts.size() && backward && !whole; ++i) parts[i]->reduce(shares[i].first == 0);
}

// New memory comes in pages of 4 KB, with a page fault for each. Very large results, which no allocator keeps for the next call,
// ask for large pages before they are first used.
template <class T>
void large_pages(const View &view, Index steps, const Call &call) {
#if defined(__linux__)
    const Index page = Index(1) << 21, least = Index(1) << 25;
    const Index last = (call.E - 1) * view.member + (steps - 1) * view.step + (call.B - 1) * view.sample + (call.K - 1) * view.entry;
    const uintptr_t from = (reinterpret_cast<uintptr_t>(view.data) + page - 1) / page * page;
    const uintptr_t to = (reinterpret_cast<uintptr_t>(view.data) + uintptr_t(last + 1) * sizeof(T)) / page * page;
    if (view.data && from + least < to) madvise(reinterpret_cast<void *>(from), to - from, MADV_HUGEPAGE);
#endif
}

enum Kernel { UNIFORM, SMALL, WORKER };

template <class T, int W>
Kernel fastest(const Call &call) {
    const bool whole = conserves(call);
    if (whole && Uniform<T, W>::fits(call)) return UNIFORM;
    return whole && call.B > 1 && Small<T, W>::fits(call) ? SMALL : WORKER;
}

template <class T, int W>
void chosen(const Call &call, bool backward) {
    const Kernel kernel = fastest<T, W>(call);
    if (kernel == UNIFORM) return run<Uniform<T, W>>(call, backward);
    if (kernel == SMALL) return run<Small<T, W>>(call, backward);
    run<Worker<T, W>>(call, backward);
}

template <class T>
int guarded(const Call &call, bool backward) {
    if (!backward) large_pages<T>(call.h, call.T, call), large_pages<T>(call.c, call.T + !call.last, call);
    try {
        call.B > Lanes<T>::V ? chosen<T, 2>(call, backward) : chosen<T, 1>(call, backward);
        return 0;
    } catch (const std::bad_alloc &) {
        return 1;
    }
}

}  // namespace

extern "C" {

int mclstm_call_bytes() { return int(sizeof(Call)); }  // checked by the tests against native/call.py

int mclstm_forward(const Call *call) { return call->wide ? guarded<double>(*call, false) : guarded<float>(*call, false); }

int mclstm_backward(const Call *call) { return call->wide ? guarded<double>(*call, true) : guarded<float>(*call, true); }

int mclstm_autoregression_bytes() { return int(sizeof(Autoregression)); }

int mclstm_autoregress(const Autoregression *call, int backward) {
    return call->wide ? autoregress<double>(*call, backward != 0) : autoregress<float>(*call, backward != 0);
}
}
