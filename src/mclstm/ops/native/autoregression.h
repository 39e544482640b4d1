// Autoregression of an MC-LSTM whose redistribution comes from a small network, as ops/autoregression.py writes it down.
//
// One sample of one member at a time: its weights stay in the cache for all steps, and lanes lie along the units of the network.
// What comes behind the network has few numbers; every lane holds the same one. The forward pass keeps what the layers saw, so that the
// backward pass needs no second product, and the gradients of weights are products over many steps at once.

#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "dense.h"
#include "settle.h"
#include "threads.h"

constexpr int MOST_LAYERS = 8, MOST_WEIGHTS = 2 * MOST_LAYERS + 2;

extern "C" {
// native/trajectory.py fills it. Letters as in ops/autoregression.py.
struct Autoregression {
    int64_t E, T, B, A, K;
    int64_t wide;                         // 0: float32, 1: float64
    int64_t threads;
    int64_t depth, widths[MOST_LAYERS + 1];  // of the network: how many layers, features, units of each layer
    int64_t activation;                   // 0: relu, 1: tanh
    int64_t norm;                         // of R's rows; 0: softmax, 1: sigmoid, 2: relu
    int64_t sees, looks;                  // 0: cells, 1: share, 2: share and change; of how many cells
    int64_t outlet;                       // 0: none, 1: constant, 2: gate
    const int64_t *cells;                 // (looks), which cells the network sees
    const double *scale, *shift;          // one per feature of the cells
    const int64_t *steps;                 // (E), the window of each member
    View a, c0, h, c, dh, dc, da, dc0;    // h (E, T, B, K), c (E, T + 1, B, K); gradients that are not wanted or not there are null
    const void *weights[MOST_WEIGHTS];    // contiguous, led by E: W (O, I) and b (O) of each layer, then W_o (K, K) and b_o (K)
    void *gradients[MOST_WEIGHTS];
};
}

namespace {

enum Activation { RECTIFIED, TANH };
enum Sees { CELLS, SHARE, CHANGE };
enum OutletForm { CLOSED, CONSTANT, GATE };

// The numbers of one member's tensor, for each entry of `weights`.
inline std::vector<Index> weight_sizes(const Autoregression &p) {
    std::vector<Index> sizes;
    for (Index l = 0; l < p.depth; ++l) sizes.push_back(p.widths[l] * p.widths[l + 1]), sizes.push_back(p.widths[l + 1]);
    if (p.outlet == GATE) sizes.push_back(p.K * p.K);
    if (p.outlet != CLOSED) sizes.push_back(p.K);
    return sizes;
}

// The trajectory of one sample, with the weights of one member.
template <class T>
class Trajectory {
    typedef typename Lanes<T>::Vec Vec;
    static constexpr Index V = Lanes<T>::V, CHUNK = 64;  // steps whose gradients of weights are one product

   public:
    explicit Trajectory(const Autoregression &call)
        : c((call.T + 1) * call.K), h(call.T * call.K), dc((call.T + 1) * call.K), dh(call.T * call.K), p(call), K(call.K), share_(call.T * K), W_o(K * K), b_o(K),
          dW_o(K * K), db_o(K), down_(padded<T>(call.widths[0])), dshare_(K), earlier_(K), u_(K * V), m_(K * V), out_(K * V), cell_(K * V), leaves_(K * V),
          stays_(K * V), g_(K * V), q_(K * V), A_(K * K * V), unmoved_(K * K), one_(V), sums_(size_t(K)) {
        for (Index l = 0; l < p.depth; ++l) layers_.push_back(std::make_unique<Dense<T>>(p.widths[l], p.widths[l + 1]));
        for (Index l = 0; l <= p.depth; ++l) {
            x_.push_back(std::make_unique<Buffer<T>>(call.T * padded<T>(p.widths[l])));
            dx_.push_back(std::make_unique<Buffer<T>>(l > 0 ? CHUNK * padded<T>(p.widths[l]) : 0));
        }
        for (Index k = 0; k < K; ++k) unmoved_[k * K + k] = T(1);
        one_.fill(T(1));
    }

    Buffer<T> c, h;    // (T + 1, K), (T, K); c[0] is set before `forward`
    Buffer<T> dc, dh;  // their gradients, set before `backward`, which leaves that of the first cells in dc[0]

    // The weights of a member, and no gradients yet.
    void load(const T *const *weights) {
        for (auto &layer : layers_) layer->load(weights[0], weights[1]), weights += 2;
        for (Buffer<T> *sums : {&dW_o, &db_o}) sums->clear();
        stays_.fill(T(1));
        leaves_.clear();
        if (p.outlet == GATE) std::copy_n(*weights++, K * K, static_cast<T *>(W_o));
        if (p.outlet == CLOSED) return;
        std::copy_n(*weights, K, static_cast<T *>(b_o));
        open(nullptr);
    }

    void forward(Index member, Index sample, Index steps) {
        for (Index t = 0; t < steps; ++t) {
            look(Place<T>(p.a, member, t, sample), t);
            for (Index l = 0; l < p.depth; ++l) {
                layers_[l]->forward(x(l, t), lanes(l + 1, t));
                if (l + 1 < p.depth) activate(lanes(l + 1, t), padded<T>(p.widths[l + 1]) / V);
            }
            redistribute(t);
            for (Index k = 0; k < K; ++k) {
                out_.at(0)[k] = leaves_.at(0)[k] * m_.at(0)[k];
                cell_.at(0)[k] = stays_.at(0)[k] * m_.at(0)[k];
            }
            Books<T, 1> books;
            books.add(u_.at(0), K);
            books.settle(out_.at(0), cell_.at(0), K, one_.at(0));
            for (Index k = 0; k < K; ++k) h[t * K + k] = out_[k * V], c[(t + 1) * K + k] = cell_[k * V];
        }
    }

    // After `forward` of the same sample and steps.
    void backward(Index member, Index sample, Index steps) {
        dshare_.clear();
        for (Index t = steps - 1; t >= 0; --t) {
            step_back(t);
            for (Index f = 0; f < p.A && p.da.data; ++f) {
                const Place<T> to(p.da, member, t, sample);
                to.data[f * to.entry] = down_[f];
            }
            if (t % CHUNK == 0)
                for (Index l = 0; l < p.depth; ++l)
                    layers_[l]->learn(std::min(CHUNK, steps - t), *dx_[l + 1], padded<T>(p.widths[l + 1]), lanes(l, t));
        }
    }

    // The gradients since `load`.
    void write(T *const *gradients) {
        for (auto &layer : layers_) layer->write(gradients[0], gradients[1]), gradients += 2;
        if (p.outlet == GATE) std::copy_n(static_cast<T *>(dW_o), K * K, *gradients++);
        if (p.outlet != CLOSED) std::copy_n(static_cast<T *>(db_o), K, *gradients);
    }

   private:
    const Autoregression &p;
    const Index K;
    std::vector<std::unique_ptr<Dense<T>>> layers_;
    std::vector<std::unique_ptr<Buffer<T>>> x_, dx_;  // what layer l saw, (T, width); its gradient, (CHUNK, width); the last x_ has the logits
    Buffer<T> share_, W_o, b_o, dW_o, db_o, down_, dshare_, earlier_;
    Buffer<T> u_, m_, out_, cell_, leaves_, stays_, g_, q_, A_, unmoved_, one_;  // a vector of equal lanes for each number
    std::vector<Sums<T, 1>> sums_;

    Vec *lanes(Index l, Index t) { return x_[l]->at(t * padded<T>(p.widths[l])); }
    T *x(Index l, Index t) { return *x_[l] + t * padded<T>(p.widths[l]); }
    T *dx(Index l, Index t) { return *dx_[l] + t % CHUNK * padded<T>(p.widths[l]); }

    // By what cells are divided for their shares, as `shares_of` in ops/hypernetwork.py; 0 where they are not divided.
    T divisor(const T *cell) const {
        T total = 0;
        for (Index k = 0; k < K && p.sees != CELLS; ++k) total += std::abs(cell[k]);
        return total > T(EMPTY) ? total : T(0);
    }

    // The features of step t.
    void look(const Place<T> &a, Index t) {
        T *to = x(0, t), *share = share_ + t * K;
        const T *cell = c + t * K;
        for (Index f = 0; f < p.A; ++f) to[f] = a.data[f * a.entry];
        const T by = divisor(cell);
        for (Index k = 0; k < K; ++k) share[k] = by > 0 ? cell[k] / by : cell[k];
        for (Index n = 0; n < p.looks; ++n) {
            const T seen = share[p.cells[n]], change = t > 0 ? seen - share[p.cells[n] - K] : T(0);
            to[p.A + n] = T(p.scale[n]) * seen + T(p.shift[n]);
            if (p.sees == CHANGE) to[p.A + p.looks + n] = T(p.scale[p.looks + n]) * change + T(p.shift[p.looks + n]);
        }
    }

    void activate(Vec *y, Index count) const {
        for (Index n = 0; n < count; ++n) y[n] = p.activation == TANH ? tanh_of<T>(y[n]) : at_least<T>(y[n], T(0));
    }

    // What leaves and what stays of every cell; a constant outlet is opened once, without cells.
    void open(const T *cell) {
        for (Index k = 0; k < K; ++k) {
            T z = b_o[k];
            for (Index j = 0; j < K && p.outlet == GATE && cell; ++j) z += W_o[k * K + j] * cell[j];
            const Outlet<T> outlet(Vec{} + z);
            leaves_.at(0)[k] = outlet.leaves, stays_.at(0)[k] = outlet.stays;
        }
    }

    // m = c R, and the outlets, from the cells and logits of step t.
    void redistribute(Index t) {
        const T *logits = x(p.depth, t), *cell = c + t * K;
        for (Index k = 0; k < K; ++k) u_.at(0)[k] = Vec{} + cell[k];
        for (Index j = 0; j < K * K; ++j) A_.at(0)[j] = Vec{} + logits[j];
        m_.clear();
        shares<T, 1>(A_.at(0), K, K, p.norm, nullptr, sums_.data());
        share_out<T, 1>(u_.at(0), A_.at(0), sums_.data(), K, K, p.norm, unmoved_, m_.at(0));
        if (p.outlet == GATE) open(cell);
    }

    void step_back(Index t) {
        redistribute(t);
        T *to = dc + t * K;
        const T *after = to + K, *cell = c + t * K;
        for (Index k = 0; k < K; ++k) g_.at(0)[k] = dh[t * K + k] * leaves_.at(0)[k] + after[k] * stays_.at(0)[k];
        share_back<T, 1>(u_.at(0), A_.at(0), sums_.data(), K, K, p.norm, unmoved_, g_.at(0), q_.at(0));
        for (Index k = 0; k < K; ++k) to[k] += q_[k * V];
        for (Index j = 0; j < K * K; ++j) dx(p.depth, t)[j] = A_[j * V];
        network_back(t);
        if (p.outlet != CLOSED) outlet_back(after, dh + t * K, cell, to);
        features_back(t, to);
    }

    void network_back(Index t) {
        for (Index l = p.depth - 1; l > 0; --l) {
            Vec *down = reinterpret_cast<Vec *>(dx(l, t));
            const Vec *y = lanes(l, t);
            layers_[l]->backward(dx(l + 1, t), down);
            for (Index n = 0; n < padded<T>(p.widths[l]) / V; ++n) down[n] = p.activation == TANH ? down[n] * (T(1) - y[n] * y[n]) : y[n] > T(0) ? down[n] : Vec{};
        }
        layers_[0]->backward(dx(1, t), down_.at(0));
    }

    void outlet_back(const T *after, const T *out, const T *cell, T *to) {
        for (Index k = 0; k < K; ++k) {
            const Vec slope = slope_of<T>(leaves_.at(0)[k], stays_.at(0)[k]);
            const T d = slope[0] * m_[k * V] * (out[k] - after[k]);
            db_o[k] += d;
            for (Index j = 0; j < K && p.outlet == GATE; ++j) dW_o[k * K + j] += d * cell[j], to[j] += d * W_o[k * K + j];
        }
    }

    // From the features of step t to its cells; a change belongs to the share of the step before as well.
    void features_back(Index t, T *to) {
        earlier_.clear();
        for (Index n = 0; n < p.looks; ++n) {
            const Index k = p.cells[n];
            dshare_[k] += T(p.scale[n]) * down_[p.A + n];
            if (p.sees != CHANGE || t == 0) continue;
            const T d = T(p.scale[p.looks + n]) * down_[p.A + p.looks + n];
            dshare_[k] += d, earlier_[k] -= d;
        }
        const T *cell = c + t * K, *share = share_ + t * K, by = divisor(cell);
        T inner = 0;
        for (Index k = 0; k < K; ++k) inner += dshare_[k] * share[k];
        for (Index k = 0; k < K; ++k) {
            const T sign = T((cell[k] > 0) - (cell[k] < 0));
            to[k] += by > 0 ? (dshare_[k] - inner * sign) / by : dshare_[k];
            dshare_[k] = earlier_[k];
        }
    }
};

// All samples of one member, from and to the tensors of a call.
template <class T>
class Run {
   public:
    explicit Run(const Autoregression &call) : p(call), path_(call), sizes_(weight_sizes(call)), weights_(sizes_.size()), gradients_(sizes_.size()) {}

    void forward(Index member) {
        load(member);
        for (Index b = 0; b < p.B; ++b) {
            const Index steps = start(member, b);
            for (Index t = 0; t <= p.T; ++t) {
                put(p.c, member, t, b, path_.c + std::min(t, steps) * p.K);
                if (t < p.T) put(p.h, member, t, b, t < steps ? path_.h + t * p.K : nullptr);
            }
        }
    }

    void backward(Index member) {
        load(member);
        for (Index b = 0; b < p.B; ++b) {
            const Index steps = start(member, b);
            path_.dc.clear(), path_.dh.clear();
            for (Index t = 0; t <= p.T; ++t) {
                if (p.dc.data) add_from(p.dc, member, t, b, path_.dc + std::min(t, steps) * p.K);
                if (p.dh.data && t < steps) add_from(p.dh, member, t, b, path_.dh + t * p.K);
            }
            path_.backward(member, b, steps);
            if (p.dc0.data) put(p.dc0, member, 0, b, path_.dc);
        }
        for (size_t n = 0; n < sizes_.size(); ++n) gradients_[n] = static_cast<T *>(p.gradients[n]) + member * sizes_[n];
        path_.write(gradients_.data());
    }

   private:
    const Autoregression &p;
    Trajectory<T> path_;
    std::vector<Index> sizes_;
    std::vector<const T *> weights_;
    std::vector<T *> gradients_;

    void load(Index member) {
        for (size_t n = 0; n < sizes_.size(); ++n) weights_[n] = static_cast<const T *>(p.weights[n]) + member * sizes_[n];
        path_.load(weights_.data());
    }

    Index start(Index member, Index sample) {
        const Place<T> from(p.c0, member, 0, sample);
        for (Index k = 0; k < p.K; ++k) path_.c[k] = from.data[k * from.entry];
        path_.forward(member, sample, p.steps[member]);
        return p.steps[member];
    }

    void put(const View &view, Index member, Index t, Index sample, const T *values) {  // null: zeros
        const Place<T> to(view, member, t, sample);
        for (Index k = 0; k < p.K; ++k) to.data[k * to.entry] = values ? values[k] : T(0);
    }

    void add_from(const View &view, Index member, Index t, Index sample, T *sums) {
        const Place<T> from(view, member, t, sample);
        for (Index k = 0; k < p.K; ++k) sums[k] += from.data[k * from.entry];
    }
};

template <class T>
int autoregress(const Autoregression &call, bool backward) {
    return each_member<Run<T>>(call, call.E, call.threads, backward, [=](Run<T> &run, Index member) { backward ? run.backward(member) : run.forward(member); });
}

}  // namespace
