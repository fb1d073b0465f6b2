// Record of the soak: counts, violations, and disturbances of the gateway. An unexpected result is a
// violation only if no disturbance explains it (`wasCalm`).

/** Maximum number of printed violations per invariant. Further violations are counted. */
const MAX_PRINTED = 5;

export class Journal {
  #counts = new Map();
  #violations = new Map();
  #disturbances = [];
  #faults = [];
  #startedAt = performance.now();
  /** Called with a line for each new violation. */
  onViolation = () => {};

  get seconds() {
    return Math.round((performance.now() - this.#startedAt) / 1000);
  }

  count(what, times = 1) {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
  }

  /** Records a maximum. */
  most(what, value) {
    this.#counts.set(what, Math.max(this.#counts.get(what) ?? 0, value));
  }

  violate(invariant, detail) {
    const seen = this.#violations.get(invariant) ?? { times: 0, first: [] };
    this.#violations.set(invariant, seen);
    seen.times += 1;
    if (seen.first.length === MAX_PRINTED) return;
    seen.first.push(detail);
    this.onViolation(`${this.seconds} s: ${invariant}: ${detail}`);
  }

  get isClean() {
    return this.#violations.size === 0;
  }

  /** Runs `disturb`. Until `afterMs` later the gateway may be slow, refuse requests and drop work. */
  async disturbing(name, disturb, afterMs = 15_000) {
    const from = performance.now();
    const disturbance = { from, until: Number.POSITIVE_INFINITY };
    this.#disturbances.push(disturbance);
    this.count(`fault: ${name}`);
    try {
      await disturb();
    } finally {
      const now = performance.now();
      disturbance.until = now + afterMs;
      this.#faults.push({ name, at: inSeconds(from - this.#startedAt), took: inSeconds(now - from) });
    }
  }

  /** Returns true if the gateway was not disturbed in this interval, in performance.now() milliseconds. */
  wasCalm(from, until = performance.now()) {
    return this.#disturbances.every((each) => each.until < from || each.from > until);
  }

  figures() {
    return {
      seconds: this.seconds,
      counts: Object.fromEntries([...this.#counts].sort(([a], [b]) => a.localeCompare(b))),
      violations: Object.fromEntries(this.#violations),
      /** In order; times in seconds. */
      faults: this.#faults,
    };
  }
}

function inSeconds(ms) {
  return Number((ms / 1000).toFixed(1));
}
