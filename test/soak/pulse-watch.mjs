// The schedule of every second, which must be seen whatever else is under way. While the gateway is disturbed it may be late,
// but it is never silent for long.

/** The longest silence while nothing is done to the gateway. */
const CALM_SILENCE_MS = 20_000;
/** However often it is killed and its clock is set. */
const LONGEST_SILENCE_MS = 150_000;
/** A clock that is set back by less repeats no instant; a larger step is noticed within half a minute. */
const CLOCK_STEP_MS = 1_000;

export class PulseWatch {
  #agents;
  #world;
  #journal;
  /** Since when nothing stands in the way of the schedule, in performance.now() milliseconds. */
  #calmSince = 0;

  constructor({ agents, world, journal }) {
    this.#agents = agents;
    this.#world = world;
    this.#journal = journal;
  }

  /** To be called every second. */
  look() {
    const now = performance.now();
    const { lastInstant, lastPulseAt } = this.#agents;
    if (!this.#journal.wasCalm(now) || this.#world.now <= lastInstant + CLOCK_STEP_MS) this.#calmSince = now;
    const silenceMs = now - lastPulseAt;
    const calmMs = now - Math.max(this.#calmSince, lastPulseAt);
    if (calmMs <= CALM_SILENCE_MS && silenceMs < LONGEST_SILENCE_MS) return;
    const seconds = Math.round(silenceMs / 1000);
    this.#journal.violate(
      'a schedule of every second comes, whatever else is under way',
      `not for ${seconds} s`,
    );
    // Told once for each silence.
    this.#agents.lastPulseAt = now;
  }
}
