// What the platform says of messages after it has taken them: of some, that they did not arrive after all. The delivery of each
// is dead then, with the reason. Whoever it was for is not told: that would go the same way.
//
// UD1  what is said of a message before its receipt is in the store waits for that, while something is being sent from its
//      number; so does the answer to the platform, which says it again where it has none.
// UD2  the log has a few lines for one notification, however much is in it; who waits is bounded in time and number.

import { setTimeout as sleep } from 'node:timers/promises';
import type { BusinessMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { platformNote } from '../../events/outbox/platform-errors.ts';
import type { WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { businessMessengerErrors } from './errors.ts';
import type { PlatformFault } from './notification.ts';
import type { SendingNow } from './sending-now.ts';

const PLATFORM = 'businessmessenger';
const WAIT_MS = 3_000;
const FIRST_PAUSE_MS = 25;
/** Notifications that wait at the same time. */
const MAX_WAITING = 64;
const MAX_LINES = 20;

type MessengerSubscriber = WebhookSubscriber<BusinessMessengerTrigger>;

type OfMessage = PlatformFault & { readonly messageId: string };

export class LateFaults {
  readonly #sending: SendingNow;
  #waiting = 0;

  constructor(sending: SendingNow) {
    this.#sending = sending;
  }

  /** Rejects as the store does: nothing may be acknowledged then. */
  async note(faults: readonly PlatformFault[], verified: readonly MessengerSubscriber[]): Promise<void> {
    for (const number of new Set(faults.map(({ phoneNumberId }) => phoneNumberId))) {
      const own = verified.find(({ trigger }) => trigger.config.phone_number_id === number);
      if (own === undefined) continue;
      const ofNumber = faults.filter(({ phoneNumberId }) => phoneNumberId === number);
      const ofMessages = ofNumber.filter((fault): fault is OfMessage => fault.messageId !== undefined);
      const ids = await this.#undeliver(own, number, ofMessages);
      tell(own, ofNumber, new Map(ofMessages.map((fault, index) => [fault, ids[index]])));
    }
  }

  async #undeliver(
    own: MessengerSubscriber,
    number: string,
    faults: readonly OfMessage[],
  ): Promise<readonly (string | undefined)[]> {
    if (faults.length === 0) return [];
    const messages = faults.map((fault) => ({ receipt: fault.messageId, note: noteOf(fault) }));
    const ids = [...(await own.host.undeliver(PLATFORM, number, messages))];
    if (this.#waiting >= MAX_WAITING) return ids;
    this.#waiting += 1;
    try {
      const endsAt = performance.now() + WAIT_MS;
      for (let pauseMs = FIRST_PAUSE_MS; ids.includes(undefined); pauseMs *= 2) {
        if (!this.#sending.isFrom(number) || performance.now() > endsAt) break;
        await sleep(pauseMs);
        const left = [...ids.keys()].filter((index) => ids[index] === undefined);
        const found = await own.host.undeliver(
          PLATFORM,
          number,
          left.flatMap((index) => messages[index] ?? []),
        );
        for (const [at, index] of left.entries()) ids[index] = found[at];
      }
      return ids;
    } finally {
      this.#waiting -= 1;
    }
  }
}

/** As the note of a message that the platform refuses at once. */
function noteOf({ code, text }: PlatformFault): string {
  if (code === undefined) return `not delivered: ${text || 'the platform does not say why'}`;
  return platformNote(businessMessengerErrors, code, text);
}

function tell(
  { host: { log }, trigger }: MessengerSubscriber,
  faults: readonly PlatformFault[],
  deliveries: ReadonlyMap<PlatformFault, string | undefined>,
): void {
  const known = faults.filter(
    (fault) => fault.messageId === undefined || deliveries.get(fault) !== undefined,
  );
  for (const fault of known.slice(0, MAX_LINES)) {
    const { messageId, code } = fault;
    const fields = { trigger: trigger.name, message: messageId, code, reason: noteOf(fault) };
    if (messageId === undefined) log.warn(fields, 'the platform reports a fault of a number');
    else
      log.warn(
        { ...fields, delivery: deliveries.get(fault) },
        'the platform could not deliver a message that it had taken',
      );
  }
  const untold = known.length - MAX_LINES;
  if (untold > 0)
    log.warn({ trigger: trigger.name, count: untold }, 'further messages that it could not deliver');
  // Others may send from the number as well.
  const told = new Set(known);
  const first = faults.find((fault) => !told.has(fault));
  if (first === undefined) return;
  const { messageId, code } = first;
  const count = faults.length - known.length;
  log.warn(
    { trigger: trigger.name, message: messageId, code, reason: noteOf(first), count },
    'the platform could not deliver messages that no delivery here knows',
  );
}
