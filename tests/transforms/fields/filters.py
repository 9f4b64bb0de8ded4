"""State estimation, filters of signals, spectra, wavelets, sound."""

from __future__ import annotations

import numpy as np
from field_programs import normal, program, uniform

TAU = 2 * np.pi
SIGNAL = np.sin(0.7 * np.arange(32)) + normal(1, 32, scale=0.2)


@program(normal(2, 4), normal(3, 5, 2, shift=2.0), 0.05)
def extended_kalman_range_and_bearing(state, measurements, q):
    dt = 0.2
    f = np.eye(4) + dt * np.eye(4, k=2)
    p = np.eye(4)
    path = []
    for z in measurements:
        state, p = f @ state, f @ p @ f.T + q * np.eye(4)
        x, y = state[0] + 3.0, state[1] + 1.0
        r = np.hypot(x, y)
        zero = np.zeros_like(r)
        h = np.stack([x / r, y / r, zero, zero, -y / r**2, x / r**2, zero, zero]).reshape(2, 4)
        innovation = z - np.stack([r, np.arctan2(y, x)])
        s = h @ p @ h.T + np.diag([0.3, 0.1])
        gain = p @ h.T @ np.linalg.inv(s)
        state = state + gain @ innovation
        left = np.eye(4) - gain @ h
        p = left @ p @ left.T + gain @ np.diag([0.3, 0.1]) @ gain.T
        path.append(state[:2])
    return np.vstack(path), np.trace(p)


@program(normal(4, 2), np.array([[0.5, 0.0], [0.1, 0.4]]), normal(5, 4))
def unscented_transform(mean, root, observed):
    p = root @ root.T
    weights = np.concatenate([[1 / 3], np.full(4, 1 / 6)])
    for z in observed:
        offsets = np.sqrt(3.0) * np.linalg.cholesky(p).T
        points = np.vstack([mean[None], mean + offsets, mean - offsets])
        points = np.stack([points[:, 0] + 0.1 * points[:, 1], 0.9 * np.sin(points[:, 1])], axis=1)
        mean = weights @ points
        away = points - mean
        p = np.einsum("k,ki,kj->ij", weights, away, away) + 0.05 * np.eye(2)
        seen = points[:, 0] ** 2 / 2 + points[:, 1]
        z_mean = weights @ seen
        gain = (weights * (seen - z_mean)) @ away / (weights @ (seen - z_mean) ** 2 + 0.2)
        mean, p = mean + gain * (z - z_mean), p - 0.5 * np.outer(gain, gain)
    return mean, p


@program(normal(6, 6), 0.6)
def particle_filter(observations, phi):
    rng = np.random.default_rng(3)
    particles = rng.normal(size=16)
    log_likelihood = 0.0
    for y in observations:
        particles = phi * particles + 0.5 * rng.normal(size=16)
        log_w = -0.5 * (y - particles) ** 2
        w = np.exp(log_w - log_w.max())
        log_likelihood += np.log(w.mean()) + log_w.max()
        w /= w.sum()
        picked = np.searchsorted(np.cumsum(w), (np.arange(16) + 0.5) / 16)
        particles = particles[picked]
    return log_likelihood, particles.mean()


@program(normal(7, 8), 0.3, 0.5)
def rauch_tung_striebel(y, q, r):
    n = len(y)
    m, p = np.zeros_like(y), np.zeros_like(y)
    for k in range(n):
        m_pred, p_pred = (m[k - 1], p[k - 1] + q) if k else (0.0, 1.0)
        gain = p_pred / (p_pred + r)
        m[k] = m_pred + gain * (y[k] - m_pred)
        p[k] = (1 - gain) * p_pred
    for k in range(n - 2, -1, -1):
        gain = p[k] / (p[k] + q)
        m[k] += gain * (m[k + 1] - m[k])
        p[k] += gain**2 * (p[k + 1] - p[k] - q)
    return m, p


@program(SIGNAL, 0.21)
def windowed_sinc_lowpass(x, cutoff):
    n = np.arange(-7, 8)
    taps = 2 * cutoff * np.sinc(2 * cutoff * n) * np.hamming(15)
    taps /= taps.sum()
    return np.convolve(x, taps, mode="same")[::2]


@program(SIGNAL[:12], np.array([0.2, 0.4, 0.2]), np.array([-0.5, 0.3]))
def biquad_transposed_direct_form(x, b, a):
    y = np.empty_like(x)
    z1 = z2 = 0.0
    for n, sample in enumerate(x):
        y[n] = b[0] * sample + z1
        z1 = b[1] * sample - a[0] * y[n] + z2
        z2 = b[2] * sample - a[1] * y[n]
    return y


@program(SIGNAL[:16])
def haar_wavelet_denoising(x):
    w = x.copy()
    n = len(w)
    while n > 1:
        even, odd = w[:n:2].copy(), w[1:n:2].copy()
        w[: n // 2], w[n // 2 : n] = (even + odd) / np.sqrt(2), (even - odd) / np.sqrt(2)
        n //= 2
    details = w[1:]
    details[:] = np.sign(details) * np.maximum(np.abs(details) - 0.15, 0)
    while n < len(w):
        low, high = w[:n].copy(), w[n : 2 * n].copy()
        w[: 2 * n : 2], w[1 : 2 * n : 2] = (low + high) / np.sqrt(2), (low - high) / np.sqrt(2)
        n *= 2
    return w


@program(SIGNAL)
def short_time_spectrogram(x):
    frames = np.lib.stride_tricks.sliding_window_view(x, 8)[::4]
    spectrum = np.fft.rfft(frames * np.hanning(9)[:8], axis=-1)
    power = spectrum.real**2 + spectrum.imag**2
    return 10 * np.log10(power + 1e-3)


@program(SIGNAL)
def welch_spectral_flatness(x):
    segments = np.stack([x[s : s + 16] for s in range(0, 17, 8)])
    segments = segments - segments.mean(axis=1, keepdims=True)
    psd = np.mean(np.abs(np.fft.rfft(segments * np.blackman(16))) ** 2, axis=0)
    psd[1:-1] *= 2
    inner = psd[1:-1]
    frequencies = np.fft.rfftfreq(16)[1:-1]
    return np.exp(np.log(inner).mean()) / inner.mean(), np.average(frequencies, weights=inner)


@program(SIGNAL[:20], 0.7)
def goertzel(x, omega):
    coeff = 2 * np.cos(omega)
    s1 = s2 = 0.0
    for sample in x:
        s1, s2 = sample + coeff * s1 - s2, s1
    return s1**2 + s2**2 - coeff * s1 * s2


@program(SIGNAL)
def levinson_durbin(x):
    full = np.correlate(x, x, "full")
    r = full[len(x) - 1 : len(x) + 4] / len(x)
    a = np.ones_like(r[:1])
    error = r[0]
    for m in range(1, 5):
        k = -(a @ r[m:0:-1]) / error
        padded = np.append(a, 0.0)
        a = padded + k * padded[::-1]
        error *= 1 - k**2
    return a, error


@program(SIGNAL[:15])
def savitzky_golay_derivative(x):
    t = np.arange(-3, 4)
    design = np.vander(t, 4, increasing=True)
    weights = np.linalg.pinv(design)[1]
    padded = np.pad(x, 3, mode="reflect")
    return np.array([weights @ padded[i : i + 7] for i in range(len(x))], like=x)


@program(SIGNAL, normal(8, 32), 0.08)
def normalized_lms_echo_canceller(far, near, mu):
    w = np.zeros_like(far, shape=4)
    errors = []
    for n in range(4, 20):
        window = far[n : n - 4 : -1]
        e = near[n] - w @ window
        w += mu * e * window / (0.1 + window @ window)
        errors.append(e)
    return np.stack(errors), w


@program(SIGNAL)
def hilbert_envelope_and_frequency(x):
    spectrum = np.fft.fft(x)
    gain = np.zeros(len(x))
    gain[0] = gain[len(x) // 2] = 1
    gain[1 : len(x) // 2] = 2
    analytic = np.fft.ifft(spectrum * gain)
    phase = np.unwrap(np.angle(analytic))
    return np.abs(analytic), np.diff(phase)[4:-4] / TAU


@program(220.0 / 8000, 1.4, 2.5)
def frequency_modulated_bell(carrier, ratio, index):
    n = np.arange(64)
    envelope = np.exp(-n / 40.0)
    modulator = index * envelope * np.sin(TAU * carrier * ratio * n)
    tone = envelope * np.sin(TAU * carrier * n + modulator)
    tone = np.int16(100) * tone / np.max(np.abs(tone))
    return np.sqrt(np.mean(tone.reshape(8, 8) ** 2, axis=1))


@program(uniform(9, 8, low=-1), 0.98)
def plucked_string(burst, damping):
    line = burst.copy()
    out = []
    position = 0
    for _ in range(24):
        following = (position + 1) % len(line)
        out.append(line[position] * 1.0)
        line[position] = damping * 0.5 * (line[position] + line[following])
        position = following
    return np.hstack(out)


@program(SIGNAL[:16])
def cepstrum_of_a_frame(frame):
    log_magnitude = np.log(np.abs(np.fft.fft(frame * np.kaiser(16, 4.0))) + 1e-2)
    cepstrum = np.fft.ifft(log_magnitude).real
    k = np.arange(6)[:, None]
    mel = np.exp(-np.abs(np.arange(9) - 1.5 * k)) @ np.exp(log_magnitude[:9])
    dct = np.cos(np.pi * k * (np.arange(6) + 0.5) / 6) @ np.log(mel)
    return cepstrum[:5], dct


@program(np.array([220.0, 277.2, 329.6]), np.array([1.0, 0.7, 0.5]))
def chord_dissonance(pitches, amplitudes):
    """Plomp and Levelt's roughness, summed over the partials."""
    partials = np.outer(pitches, np.arange(1, 5)).ravel()
    loud = np.outer(amplitudes, 0.8 ** np.arange(4)).ravel()
    i, j = np.triu_indices(12, 1)
    low, high = np.minimum(partials[i], partials[j]), np.maximum(partials[i], partials[j])
    gap = 0.24 * (high - low) / (0.021 * low + 19)
    return np.sum(loud[i] * loud[j] * (np.exp(-3.5 * gap) - np.exp(-5.75 * gap)))


@program(SIGNAL[:24], 0.9, 0.4)
def alpha_beta_tracker(z, alpha, beta):
    x, v, total = z[0], z[1] - z[0], 0.0
    for sample in z[1:]:
        x += v
        residual = sample - x
        x += alpha * residual
        v += beta * residual
        total += residual**2
    return total / (len(z) - 1), x, v


@program(SIGNAL[:12] + 1j * normal(10, 12))
def capon_beamformer(snapshots):
    x = snapshots.reshape(3, 4)
    r = x @ x.conj().T / 4 + 0.3 * np.eye(3)
    angles = np.array([-0.4, 0.1, 0.6])
    steering = np.exp(-1j * np.pi * np.outer(np.arange(3), np.sin(angles)))
    denominator = np.einsum("ia,ij,ja->a", steering.conj(), np.linalg.inv(r), steering)
    return 1 / denominator.real
