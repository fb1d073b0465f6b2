// What whoever sent an event sees of it before there is a word of the answer: that it was seen, once, and that somebody is typing,
// for as long as a run lasts. Best effort (outbound/typing-indicators.ts).

import { TypingIndicators } from '../../events/outbox/typing-indicators.ts';
import type { Taken } from './replies.ts';

/** Where a platform does not say for how long it shows that somebody is typing. */
const TYPING_LASTS_MS = 5_000;

export class ShownWhileAnswering {
  readonly #indicators = new TypingIndicators();

  /** As long as the function it gives is not called; undefined where the platform has nothing of that kind. */
  begin({ adapter: { outbound }, trigger, event, inbound }: Taken): (() => void) | undefined {
    if (outbound?.typing === undefined && outbound?.seen === undefined) return undefined;
    const address = outbound.sendsTo(trigger);
    if (event.attempt === 1 && event.woken === undefined)
      this.#indicators.once(address, async (signal) => outbound.seen?.(trigger, inbound, signal));
    const target = outbound.typing === undefined ? undefined : outbound.target(trigger, inbound);
    if (target === undefined) return undefined;
    const show = async (signal: AbortSignal) => outbound.typing?.(trigger, target, signal);
    const { typingLastsMs = TYPING_LASTS_MS, typingAfterMs } = outbound;
    return this.#indicators.begin(address, typingLastsMs, show, typingAfterMs);
  }
}
