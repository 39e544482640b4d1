// Training of autoregressive models on one series each, many updates of many members per call.
//
//     loss = mean (ŷ - y)² - mean over the outputs of corr(ŷ, y),    over the steps 1 .. window - 1
//
// A window grows when its loss has reached the threshold. Adam as torch.optim.Adam; gradients are clipped by their norm per member.
// Members differ in series and window, and are independent: their bits depend neither on threads nor on how updates are divided into calls.

#pragma once

#include <limits>
#include <numeric>

#include "autoregression.h"
#include "learn_call.h"

extern "C" {
struct Descent {                            // kernels/descent.py fills it
    int64_t E, T, A, K, hidden;             // T steps of K outputs; the cells of an LSTM, or 0: the MC-LSTM of `model`
    int64_t first, updates, growth, threads, count;  // the number of the first update; steps by which a window grows; of parameters
    const Autoregression *model;
    View a, start;                          // (E, T, 1, A), (E, 1, K)
    const float *targets;                   // (E, T + 1, K), from the start on
    const double *rates;                    // (updates)
    double threshold, decay, clip, slope, intercept, epsilon;  // clip 0: none; ŷ = slope c + intercept for an MC-LSTM
    Parameter parameters[MOST_WEIGHTS];
    float *best[MOST_WEIGHTS];              // the parameters of the lowest squared error at the largest window
    int64_t *window, *cap, *failed;         // (E); failed: the update whose gradients were not finite, -1 for none
    double *loss, *error, *lowest;          // (E), of the last update; error is the mean square
};
}

namespace {

// The MC-LSTM of a member: predictions are its cells, slightly stretched.
class MassPath {
   public:
    explicit MassPath(const Descent &call) : p(call), path_(*call.model), y_(call.T * call.K) {}

    void load(float *const *values) { path_.load(values); }

    const float *predict(Index member, Index steps) {
        const Place<float> start(p.start, member, 0, 0);
        for (Index k = 0; k < p.K; ++k) path_.c[k] = start.data[k * start.entry];
        path_.forward(member, 0, steps);
        for (Index n = 0; n < steps * p.K; ++n) y_[n] = float(p.slope) * path_.c[p.K + n] + float(p.intercept);
        return y_;
    }

    void learn(Index member, Index steps, const float *dy, float *const *gradients) {
        path_.dc.clear();
        for (Index n = 0; n < steps * p.K; ++n) path_.dc[p.K + n] = float(p.slope) * dy[n];
        path_.backward(member, 0, steps);
        path_.write(gradients);
    }

   private:
    const Descent &p;
    Trajectory<float> path_;
    Buffer<float> y_;
};

// One member at a time in training.
template <class Model>
class Descender {
   public:
    explicit Descender(const Descent &call) : p(call), model_(call), slopes_(call.T * call.K) {
        for (Index n = 0; n < p.count; ++n) gradients_.emplace_back(size_t(p.parameters[n].size));
        for (auto &gradient : gradients_) to_.push_back(gradient.data()), values_.push_back(nullptr);
    }

    void train(Index member) {
        for (Index n = 0; n < p.count; ++n) values_[n] = p.parameters[n].value + member * p.parameters[n].size;
        for (Index update = 0; update < p.updates && p.failed[member] < 0; ++update) {
            const Index steps = p.window[member] - 1;
            model_.load(values_.data());
            judge(member, model_.predict(member, steps), steps);
            keep(member);
            model_.learn(member, steps, slopes_, to_.data());
            const double norm = gradient_norm();
            if (!std::isfinite(norm) || !std::isfinite(p.loss[member])) {
                p.failed[member] = p.first + update;
            } else {
                step(member, update, p.clip > 0 ? std::min(1.0, p.clip / (norm + 1e-6)) : 1.0);
                grow(member);
            }
        }
    }

   private:
    const Descent &p;
    Model model_;
    Buffer<float> slopes_;  // the gradient of the predictions, (steps, K)
    std::vector<std::vector<float>> gradients_;
    std::vector<float *> to_, values_;

    // The loss of the predictions y (steps, K), and its slopes.
    void judge(Index member, const float *y, Index steps) {
        const float *target = p.targets + (member * (p.T + 1) + 1) * p.K;
        double squares = 0, correlations = 0;
        for (Index k = 0; k < p.K; ++k) {
            double y_mean = 0, target_mean = 0, yy = 0, tt = 0, yt = 0;
            for (Index n = k; n < steps * p.K; n += p.K) y_mean += y[n], target_mean += target[n];
            y_mean /= double(steps), target_mean /= double(steps);
            for (Index n = k; n < steps * p.K; n += p.K) {
                const double one = y[n] - y_mean, other = target[n] - target_mean, error = double(y[n]) - target[n];
                yy += one * one, tt += other * other, yt += one * other, squares += error * error;
            }
            const double size = std::sqrt(yy * tt), r = yt / size;
            correlations += r;
            for (Index n = k; n < steps * p.K; n += p.K) {
                const double toward = (target[n] - target_mean) / size - r * (y[n] - y_mean) / yy;
                slopes_[n] = float((2 * (double(y[n]) - target[n]) / double(steps) - toward) / double(p.K));
            }
        }
        p.error[member] = squares / double(steps * p.K);
        p.loss[member] = p.error[member] - correlations / double(p.K);
    }

    void keep(Index member) {
        if (!p.best[0] || !(p.error[member] < p.lowest[member])) return;
        p.lowest[member] = p.error[member];
        for (Index n = 0; n < p.count; ++n) std::copy_n(values_[n], p.parameters[n].size, p.best[n] + member * p.parameters[n].size);
    }

    void grow(Index member) {
        if (!(p.loss[member] <= p.threshold) || p.window[member] >= p.cap[member]) return;
        p.window[member] = std::min(p.window[member] + p.growth, p.cap[member]);
        p.lowest[member] = std::numeric_limits<double>::infinity();
    }

    double gradient_norm() const {
        constexpr size_t PARTS = 8;  // one sum would wait for itself
        double part[PARTS] = {};
        for (const auto &gradient : gradients_) {
            size_t k = 0;
            for (; k + PARTS <= gradient.size(); k += PARTS)
                for (size_t n = 0; n < PARTS; ++n) part[n] += double(gradient[k + n]) * gradient[k + n];
            for (; k < gradient.size(); ++k) part[0] += double(gradient[k]) * gradient[k];
        }
        return std::sqrt(std::accumulate(part, part + PARTS, 0.0));
    }

    void step(Index member, Index update, double factor) {
        const Adam adam(p.first + update + 1, p.rates[update], p.epsilon);
        const float by = float(factor), decay = float(p.decay);
        for (Index n = 0; n < p.count; ++n) {
            const Parameter &of = p.parameters[n];
            const float *g = to_[n];
            float *value = values_[n], *mean = of.mean + member * of.size, *square = of.square + member * of.size;
            for (Index k = 0; k < of.size; ++k) adam(by * g[k] + decay * value[k], value[k], mean[k], square[k]);
        }
    }
};

}  // namespace
