// Recurrences of the baselines, forward and backward: a block of samples runs through all steps before the next block starts.
//
// The backward runs the block forward again and stores the trace of each step. For a few hundred steps of a few cells the traces
// stay in the cache, and only the inputs are stored between forward and backward. Threads share the members.

#pragma once

#include "gated.h"
#include "threads.h"
#include "units.h"

namespace {

template <class T, int W, class Kind>
class Recurrent {
    typedef typename Lanes<T>::Vec Vec;
    static constexpr Index N = W * Lanes<T>::V;

   public:
    Recurrent(const Recurrence &call, bool backward)
        : p(call), kept(backward ? call.T : 1), rows(Kind::trace(call)), cell(call), u(kept * (p.I + p.O) * N), states((kept + 1) * p.S * N),
          traces(kept * rows * N), d(p.S * N), du((p.I + p.O) * N), dh(p.O * N) {}

    void forward(Index member) {
        cell.begin(member);
        for (first = 0; first < p.B; first += N) {
            load_rows(p.start, member, 0, p.S, states);
            for (Index t = 0; t < p.T; ++t) {
                step(member, t, 0);
                store_rows(state(1), p.O, p.h, member, t);
                std::copy(state(1), state(1) + p.S * N, state(0));
            }
            store_rows(state(0), p.S, p.end, member, 0);
        }
    }

    void backward(Index member) {
        cell.begin(member);
        for (first = 0; first < p.B; first += N) {
            load_rows(p.start, member, 0, p.S, states);
            for (Index t = 0; t < p.T; ++t) step(member, t, t);
            load_gradient(p.dend, member, 0, p.S, d);
            for (Index t = p.T - 1; t >= 0; --t) {
                load_gradient(p.dh, member, t, p.O, dh);
                for (Index k = 0; k < p.O * N; ++k) d[k] += dh[k];
                cell.back(lanes(u, t * (p.I + p.O)), lanes(states, t * p.S), lanes(traces, t * rows), lanes(d, 0), lanes(du, 0));
                std::copy(du + p.I * N, du + (p.I + p.O) * N, static_cast<T *>(d));
                if (p.dx.data) store_rows(du, p.I, p.dx, member, t);
            }
            if (p.dstart.data) store_rows(d, p.S, p.dstart, member, 0);
        }
        cell.reduce(member);
    }

   private:
    const Recurrence &p;
    const Index kept, rows;
    Kind cell;
    Buffer<T> u, states, traces, d, du, dh;
    Index first = 0;

    T *state(Index at) { return states + at * p.S * N; }
    Vec *lanes(Buffer<T> &of, Index row) { return of.at(row * N); }
    Index count() const { return std::min(N, p.B - first); }

    void step(Index member, Index t, Index place) {
        T *now = u + place * (p.I + p.O) * N;
        load_rows(p.x, member, t, p.I, now);
        std::copy(state(place), state(place) + p.O * N, now + p.I * N);
        cell.step(reinterpret_cast<Vec *>(now), lanes(states, place * p.S), lanes(states, (place + 1) * p.S), lanes(traces, place * rows));
    }

    // Lanes without a sample repeat the last one: their values are finite if its values are, and their gradients are zero.
    void load_rows(const View &view, Index member, Index t, Index width, T *to) {
        load<T, N>(Place<T>(view, member, t, first), count(), width, to, 0);
        for (Index k = 0; k < width && count() < N; ++k) std::fill(to + k * N + count(), to + (k + 1) * N, to[k * N + count() - 1]);
    }

    void load_gradient(const View &view, Index member, Index t, Index width, T *to) {
        if (!view.data || count() < N) std::fill_n(to, width * N, T(0));
        if (view.data) load<T, N>(Place<T>(view, member, t, first), count(), width, to, 0);
    }

    void store_rows(const T *from, Index width, const View &view, Index member, Index t) {
        store<T, N>(from, 0, count(), width, Place<T>(view, member, t, first));
    }
};

template <class T, int W, class Kind>
void run_members(const Recurrence &call, bool backward) {
    const size_t count = size_t(std::max<Index>(1, std::min<Index>(call.threads, call.E)));
    std::vector<std::unique_ptr<Recurrent<T, W, Kind>>> parts;
    for (size_t i = 0; i < count; ++i) parts.push_back(std::make_unique<Recurrent<T, W, Kind>>(call, backward));
    in_threads(count, [&](size_t i) {
        FlushDenormals flush;
        for (Index member = Index(i); member < call.E; member += Index(count)) backward ? parts[i]->backward(member) : parts[i]->forward(member);
    });
}

enum Kinds { LSTM_CELL, LN_LSTM_CELL, LINEAR_CELL, POWERS_CELL, NALU_CELL, PRODUCTS_CELL, UNITARY_CELL };

template <class T>
int recur(const Recurrence &call, bool backward) {
    constexpr int W = 2;
    try {
        switch (call.cell) {
            case LSTM_CELL: run_members<T, W, Lstm<T, W>>(call, backward); break;
            case LN_LSTM_CELL: run_members<T, W, NormalisedLstm<T, W>>(call, backward); break;
            case LINEAR_CELL: run_members<T, W, Linear<T, W>>(call, backward); break;
            case POWERS_CELL: run_members<T, W, Powers<T, W, false>>(call, backward); break;
            case NALU_CELL: run_members<T, W, Powers<T, W, true>>(call, backward); break;
            case PRODUCTS_CELL: run_members<T, W, Products<T, W>>(call, backward); break;
            default: run_members<T, W, Unitary<T, W>>(call, backward);
        }
        return 0;
    } catch (const std::bad_alloc &) {
        return 1;
    }
}

}  // namespace
