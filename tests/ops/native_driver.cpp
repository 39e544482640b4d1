// Runs the kernel on odd sizes and options drawn independently of each other, for the sanitizers. Prints the worst ledger error and
// how often each of the three kernels ran; exits with 1 if the error is large or one of them never ran.

#include <cmath>
#include <cstdio>
#include <vector>

#include "kernel.cpp"

static uint64_t state = 1;

static double uniform() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return double(state >> 40) / double(1u << 24);
}

static bool chance(double probability) { return uniform() < probability; }

static int64_t one_of(const std::vector<int64_t> &values) { return values[size_t(uniform() * double(values.size()))]; }

// A tensor (E, T, B, width) in memory: time-first, or samples beside each other, or one for all members or all samples.
enum Layout { PLAIN, TRANSPOSED, SHARED, ALIKE };

static Layout any_layout() { return Layout(one_of({PLAIN, TRANSPOSED, SHARED, ALIKE})); }

static Layout own_layout() { return Layout(one_of({PLAIN, TRANSPOSED})); }  // of what is written

template <class T>
struct Array {
    std::vector<T> values;  // exactly as long as the kernel may read or write
    View view;
    Array(int64_t E, int64_t steps, int64_t B, int64_t width, Layout layout, double low, double high) {
        const int64_t rows = layout == ALIKE ? std::min<int64_t>(B, 1) : B, each = steps * rows * width;
        values.resize(size_t(layout == SHARED ? each : E * each));
        for (T &value : values) value = T(low + (high - low) * uniform());
        view = {values.data(), layout == SHARED ? 0 : each, rows * width, layout == TRANSPOSED ? 1 : width, layout == TRANSPOSED ? B : 1};
        if (layout == ALIKE) view.sample = 0;
    }
    double at(int64_t e, int64_t t, int64_t b, int64_t k) const {
        return double(values[size_t(e * view.member + t * view.step + b * view.sample + k * view.entry)]);
    }
};

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

// A network of the arithmetic tasks learns for a few updates: all its weights move and stay finite.
static bool learns(Layer layer, Head head, int64_t outputs) {
    const int64_t E = 2, inputs = 9, steps = layer == MASS_LAYER || layer == RECURRENT_NAU_LAYER || layer == RECURRENT_NAC_LAYER ? 4 : 1, updates = 5;
    const std::vector<int64_t> sizes[] = {
        {inputs * outputs, outputs, outputs, outputs * outputs, outputs}, {inputs * outputs, outputs}, {inputs * outputs}, {inputs * outputs, inputs * outputs},
        {(inputs + outputs) * outputs, outputs}, {(inputs + outputs) * outputs, (inputs + outputs) * outputs, outputs},
        {inputs * outputs, inputs * outputs, inputs * outputs}};
    const std::vector<int64_t> heads[] = {{outputs}, {2 * outputs, 2, 1}, {outputs}, {outputs, outputs}, {outputs}, {outputs, outputs}, {outputs, outputs, outputs}};
    Learn learn = {};
    learn.members = E, learn.inputs = inputs, learn.steps = steps, learn.batch = 64, learn.outputs = outputs;
    learn.layer = layer, learn.head = head, learn.operation = head == LINEAR_HEAD ? 1 : 2, learn.subset = 3, learn.overlap = 1;
    learn.first = 1, learn.updates = updates, learn.low = 1, learn.epsilon = 1e-8, learn.l2 = 1e-3;
    const uint64_t seeds[] = {3, 4};
    const int64_t offsets[] = {0, 4};
    const std::vector<double> rates(updates, 0.01), pulls(updates, 0.1);
    int64_t failed[] = {-1, -1};
    learn.seeds = seeds, learn.offsets = offsets, learn.rates = rates.data(), learn.pulls = pulls.data(), learn.failed = failed;
    std::vector<int64_t> all = sizes[layer];
    all.insert(all.end(), heads[head].begin(), heads[head].end());
    std::vector<std::vector<float>> kept;
    for (const int64_t size : all)
        for (int moment = 0; moment < 3; ++moment) {
            kept.emplace_back(size_t(E * size));
            for (float &value : kept.back()) value = moment ? 0.0f : float(0.2 + 0.4 * uniform());
        }
    const std::vector<std::vector<float>> before = kept;
    for (size_t which = 0; which < all.size(); ++which)
        learn.parameters[which] = {kept[3 * which].data(), kept[3 * which + 1].data(), kept[3 * which + 2].data(), all[which]};
    bool fine = mclstm_learn(&learn) == 0 && failed[0] < 0 && failed[1] < 0;
    for (size_t which = 0; which < kept.size(); ++which) {
        fine &= kept[which] != before[which];
        for (const float value : kept[which]) fine &= std::isfinite(value);
    }
    return fine;
}

// A baseline's recurrence, there and back: finite outputs and gradients, and no gradient where nothing was asked for.
template <class T>
static bool recurs(int64_t cell) {
    Recurrence call = {};
    call.cell = cell, call.wide = sizeof(T) == 8, call.variant = chance(0.5), call.threads = one_of({1, 2});
    const bool gated = cell == LSTM_CELL || cell == LN_LSTM_CELL;
    const int64_t E = one_of({1, 2}), steps = one_of({1, 4}), B = one_of({0, 1, 7, 16, 17, 33}), inputs = one_of({1, 3}), K = one_of({2, 4, 6});
    call.E = E, call.T = steps, call.B = B, call.I = inputs, call.O = K, call.S = gated ? 2 * K : K;
    call.R = cell == LN_LSTM_CELL ? 4 * K : cell == LSTM_CELL ? one_of({3, 4}) * K : cell == NALU_CELL ? 2 * K : K;
    call.extra = cell == LSTM_CELL ? call.R : cell == LN_LSTM_CELL ? 18 * K : cell == UNITARY_CELL ? K / 2 : 0;
    Array<T> x(E, steps, B, inputs, any_layout(), -1, 1), start(E, 1, B, call.S, any_layout(), -1, 1), h(E, steps, B, K, own_layout(), 0, 0);
    Array<T> end(E, 1, B, call.S, own_layout(), 0, 0), dh(E, steps, B, K, any_layout(), -1, 1), dend(E, 1, B, call.S, any_layout(), -1, 1);
    Array<T> dx(E, steps, B, inputs, own_layout(), 0, 0), dstart(E, 1, B, call.S, own_layout(), 0, 0);
    Array<T> A(E, 1, 1, call.R * (inputs + K), PLAIN, -0.5, 0.5), v(E, 1, 1, call.extra, PLAIN, 0.1, 0.5);
    std::vector<T> dA(A.values.size()), dv(v.values.size());
    call.x = x.view, call.start = start.view, call.h = h.view, call.end = end.view, call.A = A.values.data(), call.v = v.values.data();
    if (mclstm_recurrence(&call, 0) != 0) return false;
    call.h = call.end = View{}, call.dh = chance(0.7) ? dh.view : View{}, call.dend = chance(0.7) ? dend.view : View{};
    call.dx = chance(0.7) ? dx.view : View{}, call.dstart = chance(0.7) ? dstart.view : View{}, call.dA = dA.data(), call.dv = dv.data();
    if (mclstm_recurrence(&call, 1) != 0) return false;
    bool fine = true, moved = false;
    for (const std::vector<T> *values : {&h.values, &end.values, &dx.values, &dstart.values, &dA, &dv})
        for (const T value : *values) fine &= std::isfinite(value);
    for (const T value : dA) moved |= value != T(0);
    return fine && moved == (B > 0 && (call.dh.data || call.dend.data));
}

// Gradients of a pooled convolution whose kernels and images are ones: each is the number of slopes it was met by.
template <class T>
static bool pools() {
    Pooled call = {};
    call.wide = sizeof(T) == 8, call.N = one_of({0, 1, 3}), call.k = one_of({1, 3, 5}), call.C = one_of({1, 2, 9}), call.O = one_of({1, 4});
    call.H = call.k + one_of({1, 2, 6}), call.W = call.k + one_of({1, 3, 4}), call.h = (call.H - call.k + 1) / 2, call.w = (call.W - call.k + 1) / 2;
    const int64_t outputs = call.N * call.h * call.w * call.O, each = call.k * call.k * call.C, across = call.W - call.k + 1;
    std::vector<T> x(size_t(call.N * call.H * call.W * call.C), T(1)), kernels(size_t(call.O * each), T(1)), y(outputs), dy(outputs, T(1));
    std::vector<T> dx(x.size()), dkernels(kernels.size()), dbias(size_t(call.O));
    std::vector<int64_t> largest(outputs);
    T active = 0, bias = 0, learned = 0, back = 0;
    for (int64_t i = 0; i < outputs; ++i) {
        const int64_t at = i / call.O % (call.h * call.w);
        largest[size_t(i)] = (at / call.w * 2 + chance(0.5)) * across + at % call.w * 2 + chance(0.5);
        active += y[size_t(i)] = T(chance(0.6));
    }
    call.x = x.data(), call.kernels = kernels.data(), call.y = y.data(), call.dy = dy.data(), call.largest = largest.data();
    call.dx = chance(0.7) ? dx.data() : nullptr, call.dkernels = dkernels.data(), call.dbias = dbias.data();
    if (mclstm_pooled_back(&call) != 0) return false;
    for (const T value : dbias) bias += value;
    for (const T value : dkernels) learned += value;
    for (const T value : dx) back += value;
    return bias == active && learned == active * T(each) && back == (call.dx ? learned : T(0));
}

int main() {
    for (int draw = 0; draw < 100; ++draw)
        if (!pools<float>() || !pools<double>()) return std::printf("draw %d: wrong gradients of a pooled convolution\n", draw), 1;
    for (int64_t cell = LSTM_CELL; cell <= UNITARY_CELL; ++cell)
        for (int draw = 0; draw < 20; ++draw)
            if (!recurs<float>(cell) || !recurs<double>(cell)) return std::printf("cell %ld, draw %d: not there and back\n", long(cell), draw), 1;
    for (const int64_t outputs : {2, 3})
        for (const Head head : {LINEAR_HEAD, PRODUCT_HEAD})
            if (!learns(MASS_LAYER, head, outputs) || !learns(MCFC_LAYER, head, outputs)) return std::printf("head %d does not learn\n", head), 1;
    for (const Head head : {NAU_HEAD, NMU_HEAD})
        if (!learns(NAU_LAYER, head, 2) || !learns(RECURRENT_NAU_LAYER, head, 2)) return std::printf("head %d does not learn\n", head), 1;
    for (const Head head : {NAC_HEAD, NAC_MUL_HEAD})
        if (!learns(NAC_LAYER, head, 2) || !learns(RECURRENT_NAC_LAYER, head, 2)) return std::printf("head %d does not learn\n", head), 1;
    for (const int64_t outputs : {2, 3})
        if (!learns(NALU_LAYER, NALU_HEAD, outputs)) return std::printf("NALU does not learn\n"), 1;
    double single = 0, wide = 0;
    for (int draw = 0; draw < 300; ++draw) {
        single = std::max(run_case<float>(), single), wide = std::max(run_case<double>(), wide);
        if (!(single < 1e-5 && wide < 1e-13)) return std::printf("draw %d: worst ledger error %g, %g\n", draw, single, wide), 1;
    }
    std::printf("worst ledger error: float %g, double %g\n", single, wide);
    std::printf("uniform %ld, small %ld, worker %ld times\n", long(ran[UNIFORM]), long(ran[SMALL]), long(ran[WORKER]));
    return ran[UNIFORM] && ran[SMALL] && ran[WORKER] ? 0 : 1;
}
