// Limits of the work of expressions. All expressions of one flow node share a budget, so that a node cannot
// stall the process, however large its values are.
//
// CEL2  every step and every built byte is counted before the work is done, and the evaluation ends at the
//       limit.

/**
 * Maximum number of steps: about 20 ms of work. A step is the evaluation of one part of an expression, for
 * example for one item of a list.
 */
export const MAX_STEPS = 100_000;
/** Maximum bytes of the texts and lists that expressions build, including their results. */
export const MAX_BYTES = 8_388_608;

export class EvaluationBudget {
  #steps = 0;
  #bytes = 0;
  #fault: RangeError | undefined;

  /** Throws a RangeError above the limit, also in later calls. */
  spendSteps(count: number): void {
    this.#steps += count;
    if (this.#steps > MAX_STEPS)
      throw this.#exceeded(`the expressions of a node have at most ${MAX_STEPS} steps`);
  }

  /** Throws a RangeError above the limit, also in later calls. */
  spendBytes(count: number): void {
    this.#bytes += count;
    if (this.#bytes > MAX_BYTES)
      throw this.#exceeded(`the expressions of a node build at most ${MAX_BYTES} bytes`);
  }

  /** Throws the first error again, because an operator such as `||` may have replaced it by a value. */
  assertNotExceeded(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }

  /** Returns the first error. A new error per call would be slow in a loop that continues after errors. */
  #exceeded(message: string): RangeError {
    this.#fault ??= new RangeError(`${message}: use shorter lists and texts, or do the work in a tool`);
    return this.#fault;
  }
}
