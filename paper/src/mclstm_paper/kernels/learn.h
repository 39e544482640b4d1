// Training of small arithmetic networks, many updates per call. The numbers of a batch never leave the cache.
//
// Every network here is a first layer z(x), of learn_linear.h or learn_gated.h, and a small output layer:
//
//     ŷ = head(z),    loss = mean (ŷ - y)²
//
// The rows of x are (input, step), its columns the samples of a batch; y is an operation between two sums of rows. Members are
// trained one after the other, each for all updates of a call. seeds/member_ensemble.py does the same in torch, several times slower.

#pragma once

#include "learn_gated.h"
#include "learn_head.h"
#include "learn_linear.h"
#include "philox.h"

namespace {

// One member in training.
template <class Layer>
class Learner {
   public:
    explicit Learner(const Learn &learn)
        : p(learn), N(learn.inputs * learn.steps), B(learn.batch), own(), layer(learn, own), output(learn, own, LAYER_PARAMETERS[learn.layer]), x(N * B),
          z(rows_of(learn) * B), y(size_t(B)), sums(size_t(2 * B)) {
        for (Index which = 0; which < MOST_PARAMETERS; ++which) own.gradient[which].resize(size_t(p.parameters[which].size));
    }

    void train_all() {
        for (Index member = 0; member < p.members; ++member) train(member);
    }

   private:
    void train(Index member) {
        for (Index which = 0; which < MOST_PARAMETERS; ++which)
            own.value[which] = p.parameters[which].value ? p.parameters[which].value + member * p.parameters[which].size : nullptr;
        for (Index update = 0; update < p.updates && p.failed[member] < 0; ++update) {
            draw(member, p.first + update);
            if (!gradients(p.pulls[update]))
                fail(member, p.first + update);
            else
                step(member, p.first + update + 1, p.rates[update]);
        }
    }

    const Learn &p;
    const Index N, B;  // rows of x, samples
    Own own;
    Layer layer;
    Output output;
    Buffer<float> x, z;
    std::vector<float> y;
    Matrix sums;

    // The numbers of an update, (n, T, B), from the stream "train" of seeds/streams.py, and their targets, summed in float64.
    void draw(Index member, Index update) {
        uniform_item(p.seeds[member], uint64_t(update), 0, N * B, x);
        const float low = float(p.low);
        for (Index k = 0; k < N * B; ++k) x[k] += low;
        std::fill(sums.begin(), sums.end(), 0.0);
        for (Index s = 0; s < 2; ++s) {
            const Index from = p.offsets[member] + s * (p.subset - p.overlap);
            double *to = sums.data() + s * B;
            for (Index row = from * p.steps; row < (from + p.subset) * p.steps; ++row)
                for (Index b = 0; b < B; ++b) to[b] += x[row * B + b];
        }
        for (Index b = 0; b < B; ++b) {
            const double one = sums[b], two = sums[B + b];
            y[b] = float(p.operation == 0 ? one + two : p.operation == 1 ? one - two : one * two);
        }
    }

    // Whether the gradients of all that is learned are finite.
    bool gradients(double pull) {
        for (Matrix &gradient : own.gradient) std::fill(gradient.begin(), gradient.end(), 0.0);
        layer.forward(x, z);
        const double loss = output.learn(z, y.data());
        layer.backward(x, output.dz);
        if (pull > 0) pull_weights(pull);
        bool finite = std::isfinite(loss);
        for (Index which = 0; which < MOST_PARAMETERS; ++which)
            for (const double value : own.gradient[which]) finite = finite && (!p.parameters[which].mean || std::isfinite(float(value)));
        return finite;
    }

    // The mean distance of NAU's and NMU's weights from whole numbers.
    void pull_weights(double factor) {
        const Index first = LAYER_PARAMETERS[p.layer];
        if (is_nau(p.layer)) pull(0, factor, false);
        if (p.head == NAU_HEAD || p.head == NMU_HEAD) pull(first, factor, p.head == NMU_HEAD);
    }

    // min(|w|, |1 - |w||), for NMU min(|w|, |1 - w|).
    void pull(Index which, double factor, bool positive) {
        const double each = factor / double(p.parameters[which].size);
        for (Index k = 0; k < p.parameters[which].size; ++k) {
            const double w = own.value[which][k], size = std::abs(w), beyond = 1 - (positive ? w : size), sign = (w > 0) - (w < 0);
            const double inward = -((beyond > 0) - (beyond < 0)) * (positive ? 1.0 : sign);
            const double slope = size < std::abs(beyond) ? sign : size > std::abs(beyond) ? inward : 0.5 * (sign + inward);
            own.gradient[which][k] += each * slope;
        }
    }

    void fail(Index member, Index update) {
        p.failed[member] = update;
        for (const Parameter &of : p.parameters)
            if (of.mean) std::fill_n(of.mean + member * of.size, of.size, 0.0f), std::fill_n(of.square + member * of.size, of.size, 0.0f);
    }

    // One step of Adam, then the clamp of NAU and NMU.
    void step(Index member, Index number, double rate) {
        const Adam adam(number, rate, p.epsilon);
        for (Index which = 0; which < MOST_PARAMETERS; ++which) {
            const Parameter &of = p.parameters[which];
            if (!of.mean) continue;
            float *value = of.value + member * of.size, *mean = of.mean + member * of.size, *square = of.square + member * of.size;
            const bool layer = which < LAYER_PARAMETERS[p.layer];
            const bool units = layer ? which == 0 && is_nau(p.layer) : p.head == NAU_HEAD || p.head == NMU_HEAD;
            const float least = !layer && p.head == NMU_HEAD ? 0.0f : -1.0f;
            for (Index k = 0; k < of.size; ++k) {
                adam(float(own.gradient[which][k]), value[k], mean[k], square[k]);
                if (units) value[k] = std::min(1.0f, std::max(least, value[k]));
            }
        }
    }
};

}  // namespace
