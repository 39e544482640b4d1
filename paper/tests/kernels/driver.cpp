// Runs the paper's kernels on odd sizes and options, for the sanitizers; exits with 1 if a result is wrong.

#include <cmath>

#include "paper.cpp"
#include "drawn.h"

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

// An autoregressive model learns for a few updates: its weights move, stay finite, and the best of them are kept.
static bool descends(int64_t hidden) {
    const int64_t E = 3, T = 70, A = 2, K = 2, updates = 3;
    const std::vector<double> scale = {2, 12}, shift = {-1, 0}, rates(updates, 0.01);
    const std::vector<int64_t> cells = {0};
    Autoregression model = {};
    model.E = E, model.T = T, model.B = 1, model.A = A, model.K = K, model.sees = CHANGE, model.looks = 1, model.outlet = GATE, model.depth = 2;
    model.widths[0] = A + 2, model.widths[1] = 11, model.widths[2] = K * K, model.cells = cells.data(), model.scale = scale.data(), model.shift = shift.data();
    const std::vector<Index> all = hidden ? std::vector<Index>{4 * hidden * (K + A), 4 * hidden * hidden, 4 * hidden, 4 * hidden, K * hidden, K} : weight_sizes(model);
    Array<float> a(E, T, 1, A, any_layout(), -1, 1), start(E, 1, 1, K, PLAIN, 0, 1), targets(E, T + 1, 1, K, PLAIN, 0, 1);
    Descent call = {};
    call.E = E, call.T = T, call.A = A, call.K = K, call.hidden = hidden, call.updates = updates, call.growth = 50, call.threads = 2, call.count = int64_t(all.size());
    model.a = call.a = a.view, call.start = start.view, call.model = &model, call.targets = targets.values.data(), call.rates = rates.data();
    call.threshold = 9, call.decay = 1e-3, call.clip = 1, call.slope = 1.02, call.intercept = -0.01, call.epsilon = 1e-8;
    std::vector<std::vector<float>> kept;
    for (const Index size : all)
        for (int part = 0; part < 4; ++part) kept.push_back(part == 0 ? Array<float>(E, 1, 1, size, PLAIN, -0.3, 0.3).values : std::vector<float>(size_t(E * size)));
    const std::vector<std::vector<float>> before = kept;
    for (size_t n = 0; n < all.size(); ++n) {
        call.parameters[n] = {kept[4 * n].data(), kept[4 * n + 1].data(), kept[4 * n + 2].data(), all[n]};
        call.best[n] = kept[4 * n + 3].data();
    }
    std::vector<int64_t> window = {11, 20, 71}, cap = {71, 40, 71}, failed = {-1, -1, -1};
    std::vector<double> loss(E), error(E), lowest(E, 1e9);
    call.window = window.data(), call.cap = cap.data(), call.failed = failed.data(), call.loss = loss.data(), call.error = error.data(), call.lowest = lowest.data();
    bool fine = mclstm_descend(&call) == 0 && window == cap && failed == std::vector<int64_t>{-1, -1, -1};
    for (size_t n = 0; n < kept.size(); ++n) {
        fine &= kept[n] != before[n];
        for (const float value : kept[n]) fine &= std::isfinite(value);
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

// Every thread of the loop that the bench compares with reaches its sum.
static bool multiplies_and_adds(int64_t threads) {
    std::vector<float> sums(size_t(threads), 0.0f);
    mclstm_fma_loop(2, threads, sums.data());
    return std::count(sums.begin(), sums.end(), 1.5f * float(mclstm_fma_width())) == threads;
}

int main() {
    for (const int64_t hidden : {0, 16, 32})
        if (!descends(hidden)) return std::printf("an autoregressive model of %ld cells does not learn\n", long(hidden)), 1;
    for (const int64_t threads : {1, 3})
        if (!multiplies_and_adds(threads)) return std::printf("%ld threads: another sum of multiply-adds\n", long(threads)), 1;
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
    return 0;
}
