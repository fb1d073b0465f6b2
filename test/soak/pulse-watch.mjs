// Checks the trigger `pulse`, a schedule with an event per second. Disturbances may delay events, but not for
// long.

/** Maximum time without an event if the gateway is not disturbed. */
const CALM_SILENCE_MS = 20_000;
/** Maximum time without an event, with any number of kills and clock steps. */
const LONGEST_SILENCE_MS = 150_000;
/**
 * The gateway repeats no instant after a smaller backward step, and detects a larger step within half a
 * minute.
 */
const CLOCK_STEP_MS = 1_000;

export class PulseWatch {
  #agents;
  #world;
  #journal;
  /** End of the last disturbance, in performance.now() milliseconds. */
  #calmSince = 0;

  constructor({ agents, world, journal }) {
    this.#agents = agents;
    this.#world = world;
    this.#journal = journal;
  }

  /** Reports a violation if events are missing. Must be called every second. */
  check() {
    const now = performance.now();
    const { lastInstant, lastPulseAt } = this.#agents;
    if (!this.#journal.wasCalm(now) || this.#world.now <= lastInstant + CLOCK_STEP_MS) this.#calmSince = now;
    const silenceMs = now - lastPulseAt;
    const calmMs = now - Math.max(this.#calmSince, lastPulseAt);
    if (calmMs <= CALM_SILENCE_MS && silenceMs < LONGEST_SILENCE_MS) return;
    const seconds = Math.round(silenceMs / 1000);
    this.#journal.violate(
      'a schedule of every second fires despite faults and load',
      `silent for ${seconds} s`,
    );
    // Prevents a second report.
    this.#agents.lastPulseAt = now;
  }
}
