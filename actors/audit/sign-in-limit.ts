// Limits the lines about refused sign-ins: LINES per second and network, and ALL_LINES in total, because any
// sender can cause them. Further refusals of a second are counted in one line.

const LINES = 10;
const ALL_LINES = 100;
const PERIOD_MS = 1_000;

export class SignInLimit {
  readonly #onPeriodEnd: (omitted: number) => void;
  readonly #byNetwork = new Map<string, number>();
  #lines = 0;
  #omitted = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `onPeriodEnd` receives the number of refusals without a line, if there are any. */
  constructor(onPeriodEnd: (omitted: number) => void) {
    this.#onPeriodEnd = onPeriodEnd;
  }

  /** Returns true if a refusal gets a line, and counts it. */
  take(network: string): boolean {
    this.#timer ??= setTimeout(() => this.endPeriod(), PERIOD_MS).unref();
    const count = this.#byNetwork.get(network) ?? 0;
    if (count >= LINES || this.#lines >= ALL_LINES) {
      this.#omitted += 1;
      return false;
    }
    this.#byNetwork.set(network, count + 1);
    this.#lines += 1;
    return true;
  }

  endPeriod(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const omitted = this.#omitted;
    this.#byNetwork.clear();
    this.#lines = 0;
    this.#omitted = 0;
    if (omitted > 0) this.#onPeriodEnd(omitted);
  }
}
