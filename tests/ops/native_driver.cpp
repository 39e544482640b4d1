// Runs the kernel on odd sizes and options drawn independently of each other, for the sanitizers. Prints the worst ledger error and
// how often each of the three kernels ran; exits with 1 if the error is large or one of them never ran.

#include <cmath>
#include <cstdio>
#include <vector>

#include "kernel.cpp"
#include "drawn.h"

// Sizes and options. Gates that are the same for all samples would be too rare without help: `alike` makes them possible.
static Call drawn(bool alike) {
    Call call = {};
    call.E = one_of({1, 1, 2, 3}), call.T = one_of({0, 1, 2, 3, 11}), call.B = one_of({0, 1, 2, 7, 8, 9, 16, 17, 33, 70, 70, 300});
    call.M = one_of({0, 1, 3}), call.A = one_of({0, 1, 2}), call.S = alike ? 0 : one_of({0, 1, 2}), call.K = one_of({1, 3, 8, 13, 17});
    call.form = one_of(alike ? std::vector<int64_t>{IDENTITY, STATIC} : std::vector<int64_t>{IDENTITY, STATIC, DYNAMIC});
    const std::vector<int64_t> norms = {SOFTMAX, SIGMOID, RELU, SOFTMAX, SIGMOID, RELU, LOGISTIC, LINEAR};
    call.input_norm = one_of(norms), call.cell_norm = one_of(norms), call.keeps_outflow = chance(0.2);
    call.sees_state = !alike && chance(0.5), call.sees_mass = !alike && chance(0.5), call.is_signed = chance(0.2);
    call.F = call.A + call.S + (call.sees_state ? call.K : 0) + (call.sees_mass ? call.M : 0);
    call.threads = one_of({1, 2, 3, 5});
    return call;
}

template <class T>
struct Weights {  // of all six kinds, as contiguous as the kernel takes them, and room for their gradients
    std::vector<T> values[6], gradients[6];
    Weights(Call &call) {
        const int64_t E = call.E, M = call.M, K = call.K, F = call.F, cells = call.form == IDENTITY ? 0 : K, rows = call.form == DYNAMIC ? K : 0;
        const int64_t sizes[] = {M * K * F, M * K, K * F, K, rows * K * F, cells * K};
        for (int i = 0; i < 6; ++i) values[i] = gradients[i] = Array<T>(E, 1, 1, sizes[i], PLAIN, i % 2 ? -60 : -1, 1).values;
        call.W_i = values[0].data(), call.b_i = values[1].data(), call.W_o = values[2].data(), call.b_o = values[3].data();
        call.W_r = values[4].data(), call.B_r = values[5].data();
        call.dW_i = gradients[0].data(), call.db_i = gradients[1].data(), call.dW_o = gradients[2].data(), call.db_o = gradients[3].data();
        call.dW_r = gradients[4].data(), call.dB_r = gradients[5].data();
    }
};

static std::vector<uint8_t> some(int64_t rows, int64_t width, bool one_at_least) {
    std::vector<uint8_t> found(size_t(rows * width));
    for (uint8_t &value : found) value = chance(0.7);
    for (int64_t row = 0; row < rows && one_at_least; ++row) found[size_t(row * width + int64_t(uniform() * double(width)))] = 1;
    return found;
}

static int64_t ran[3];  // with something to do, by Kernel

template <class T>
static bool runs(const Call &call, bool backward) {
    const Kernel kernel = call.B > Lanes<T>::V ? fastest<T, 2>(call) : fastest<T, 1>(call);
    ran[kernel] += call.T > 0 && call.B > 0;
    return (backward ? mclstm_backward(&call) : mclstm_forward(&call)) == 0;
}

// The same call, way ahead as `ahead`, way back as `back`, for the last step only; whether it ends as the whole sequence does.
template <class T>
static bool last_agrees(Call ahead, Call back, const Array<T> &h, const Array<T> &c) {
    const int64_t E = ahead.E, steps = ahead.T, B = ahead.B, K = ahead.K;
    const Layout layout = own_layout();
    Array<T> outflow(E, 1, B, K, layout, 0, 0), end(E, 1, B, K, layout, 0, 0), before(E, steps, B, K, layout, 0, 0), down(E, 1, B, K, any_layout(), -1, 1);
    for (Array<T> *once : {&outflow, &end, &down}) once->view.step = 0;
    ahead.last = back.last = 1, ahead.c = back.c = before.view, ahead.h = outflow.view, ahead.end = end.view;
    back.dh = chance(0.8) ? down.view : View{}, back.dc = chance(0.8) ? down.view : View{};
    if (!runs<T>(ahead, false) || !runs<T>(back, true)) return false;
    bool same = true;
    const auto equal = [](double one, double other) { return one == other || (std::isnan(one) && std::isnan(other)); };
    for (int64_t e = 0; e < E; ++e)
        for (int64_t b = 0; b < B; ++b)
            for (int64_t k = 0; k < K; ++k)
                same &= equal(outflow.at(e, 0, b, k), h.at(e, steps - 1, b, k)) && equal(end.at(e, 0, b, k), c.at(e, steps, b, k));
    return same;
}

// What came in, c0 and x, against what is left, c, and what went out, h; relative, the worst sample's.
template <class T>
static double ledger_error(const Call &call, const Array<T> &x, const Array<T> &c0, const Array<T> &h, const Array<T> &c) {
    double worst = 0;
    for (int64_t e = 0; e < call.E; ++e)
        for (int64_t b = 0; b < call.B; ++b) {
            double came = 0, left = 0;
            for (int64_t k = 0; k < call.K; ++k) came += c0.at(e, 0, b, k), left += c.at(e, call.T, b, k);
            for (int64_t t = 0; t < call.T; ++t) {
                for (int64_t k = 0; k < call.K; ++k) left += h.at(e, t, b, k);
                for (int64_t f = 0; f < call.M; ++f) came += call.valid && !call.valid[t * call.B + b] ? 0.0 : x.at(e, t, b, f);
            }
            const double error = std::abs(came - left) / std::max(came, 1e-30);
            worst = error <= worst ? worst : error;  // NaN stays
        }
    return worst;
}

template <class T>
static double run_case() {
    const bool alike = chance(0.3);
    Call call = drawn(alike);
    const int64_t E = call.E, steps = call.T, B = call.B, M = call.M, A = call.A, S = call.S, K = call.K;
    call.wide = sizeof(T) == 8;
    Array<T> x(E, steps, B, M, any_layout(), 0, 1), a(E, steps, B, A, alike ? ALIKE : any_layout(), -1, 1), s(E, 1, B, S, any_layout(), -1, 1);
    Array<T> c0(E, 1, B, K, any_layout(), 0, 1), h(E, steps, B, K, own_layout(), 0, 0), c(E, steps + 1, B, K, own_layout(), 0, 0);
    Array<T> dh(E, steps, B, K, any_layout(), -1, 1), dc(E, steps + 1, B, K, any_layout(), -1, 1), dx(E, steps, B, M, own_layout(), 0, 0);
    Array<T> da(E, steps, B, A, own_layout(), 0, 0), ds(E, 1, B, S, own_layout(), 0, 0), dc0(E, 1, B, K, own_layout(), 0, 0);
    Weights<T> weights(call);
    const std::vector<uint8_t> mask = some(K, K, true), valid = some(steps, B, false);
    for (Array<T> *once : {&s, &c0, &ds, &dc0}) once->view.step = 0;
    call.x = x.view, call.a = a.view, call.s = s.view, call.c0 = c0.view;
    call.mask = chance(0.4) ? mask.data() : nullptr, call.valid = !alike && chance(0.5) ? valid.data() : nullptr;
    Call back = call;
    call.h = h.view, call.c = back.c = c.view;
    if (chance(0.8)) back.dh = dh.view;
    if (chance(0.6)) back.dc = dc.view;
    if (chance(0.7)) back.dx = dx.view;
    if (chance(alike ? 0.3 : 0.7)) back.da = da.view;
    if (chance(0.7)) back.ds = ds.view, back.dc0 = dc0.view;
    if (!runs<T>(call, false) || !runs<T>(back, true) || (steps > 0 && !last_agrees<T>(call, back, h, c))) return 1.0;
    const bool conserves = !call.keeps_outflow && call.input_norm <= RELU && call.cell_norm <= RELU;
    return conserves ? ledger_error<T>(call, x, c0, h, c) : 0.0;
}

// Autoregression, there and back: finite gradients, and no mass gained or lost.
template <class T>
static bool autoregresses() {
    Autoregression call = {};
    const int64_t E = one_of({1, 2, 3}), steps = one_of({0, 1, 5, 65}), B = one_of({0, 1, 2}), A = one_of({0, 1, 9}), K = one_of({1, 2, 5});
    call.E = E, call.T = steps, call.B = B, call.A = A, call.K = K, call.wide = sizeof(T) == 8, call.threads = one_of({1, 2});
    call.activation = chance(0.5), call.norm = one_of({SOFTMAX, SIGMOID, RELU}), call.sees = one_of({CELLS, SHARE, CHANGE}), call.looks = one_of({1, K});
    call.outlet = one_of({CLOSED, CONSTANT, GATE}), call.depth = one_of({1, 2, 3});
    const int64_t features = call.looks * (call.sees == CHANGE ? 2 : 1);
    const std::vector<double> scale(size_t(features), 2.0), shift(size_t(features), -1.0);
    std::vector<int64_t> cells, windows;
    for (int64_t n = 0; n < call.looks; ++n) cells.push_back(call.looks == K ? n : K - 1);
    for (int64_t e = 0; e < E; ++e) windows.push_back(one_of({0, steps, steps}));
    call.cells = cells.data(), call.scale = scale.data(), call.shift = shift.data(), call.steps = windows.data(), call.widths[0] = A + features;
    for (int64_t l = 1; l <= call.depth; ++l) call.widths[l] = l == call.depth ? K * K : one_of({1, 8, 50, 100});
    std::vector<std::vector<T>> weights, gradients;
    for (const Index size : weight_sizes(call)) weights.push_back(Array<T>(E, 1, 1, size, PLAIN, -0.5, 0.5).values), gradients.push_back(weights.back());
    for (size_t n = 0; n < weights.size(); ++n) call.weights[n] = weights[n].data(), call.gradients[n] = gradients[n].data();
    Array<T> a(E, steps, B, A, any_layout(), -1, 1), c0(E, 1, B, K, any_layout(), 0, 1), h(E, steps, B, K, own_layout(), 0, 0), c(E, steps + 1, B, K, own_layout(), 0, 0);
    Array<T> dh(E, steps, B, K, any_layout(), -1, 1), dc(E, steps + 1, B, K, any_layout(), -1, 1), da(E, steps, B, A, own_layout(), 0, 0), dc0(E, 1, B, K, own_layout(), 0, 0);
    call.a = a.view, call.c0 = c0.view, call.h = h.view, call.c = c.view;
    if (mclstm_autoregress(&call, 0) != 0) return false;
    bool fine = true;
    for (int64_t e = 0; e < E; ++e)
        for (int64_t b = 0; b < B; ++b) {
            double lost = 0, total = 0;
            for (int64_t k = 0; k < K; ++k) {
                lost += c0.at(e, 0, b, k) - c.at(e, steps, b, k), total += c0.at(e, 0, b, k);
                for (int64_t t = 0; t < steps; ++t) lost -= h.at(e, t, b, k);
            }
            fine &= std::abs(lost) <= 4 * std::numeric_limits<T>::epsilon() * double(steps + K) * total;
        }
    call.h = call.c = View{}, call.dh = chance(0.7) ? dh.view : View{}, call.dc = chance(0.7) ? dc.view : View{};
    call.da = chance(0.7) ? da.view : View{}, call.dc0 = chance(0.7) ? dc0.view : View{};
    if (mclstm_autoregress(&call, 1) != 0) return false;
    for (const std::vector<T> *values : {&da.values, &dc0.values})
        for (const T value : *values) fine &= std::isfinite(value);
    for (const std::vector<T> &values : gradients)
        for (const T value : values) fine &= std::isfinite(value);
    return fine;
}

int main() {
    for (int draw = 0; draw < 60; ++draw)
        if (!autoregresses<float>() || !autoregresses<double>()) return std::printf("draw %d: autoregression is not there and back\n", draw), 1;
    double single = 0, wide = 0;
    for (int draw = 0; draw < 300; ++draw) {
        single = std::max(run_case<float>(), single), wide = std::max(run_case<double>(), wide);
        if (!(single < 1e-5 && wide < 1e-13)) return std::printf("draw %d: worst ledger error %g, %g\n", draw, single, wide), 1;
    }
    std::printf("worst ledger error: float %g, double %g\n", single, wide);
    std::printf("uniform %ld, small %ld, worker %ld times\n", long(ran[UNIFORM]), long(ran[SMALL]), long(ran[WORKER]));
    return ran[UNIFORM] && ran[SMALL] && ran[WORKER] ? 0 : 1;
}
