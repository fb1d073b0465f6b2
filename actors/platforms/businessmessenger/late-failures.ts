// Handles failures that the platform reports after it had accepted a message. The delivery becomes dead, with
// the reason. The recipient is not notified, because that message would fail too.
//
// A failure may arrive before the receipt of the message is stored. While the number is sending, the response
// to the notification is therefore delayed until the receipt is known, for WAIT_MS at most; delayed
// notifications and log lines are limited. If the store fails, the platform redelivers the notification.

import { setTimeout as sleep } from 'node:timers/promises';
import type { BusinessMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { platformNote } from '../../events/outbox/platform-errors.ts';
import type { WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { businessMessengerErrors } from './errors.ts';
import type { PlatformFault } from './notification.ts';
import type { SendsInProgress } from './sends-in-progress.ts';

const PLATFORM = 'businessmessenger';
const WAIT_MS = 3_000;
const FIRST_PAUSE_MS = 25;
/** Maximum number of delayed notifications. */
const MAX_DELAYED = 64;
const MAX_LINES = 20;

type FailureSubscriber = WebhookSubscriber<BusinessMessengerTrigger>;

type MessageFault = PlatformFault & { readonly messageId: string };

export class LateFaults {
  readonly #sending: SendsInProgress;
  #delayed = 0;

  constructor(sending: SendsInProgress) {
    this.#sending = sending;
  }

  /**
   * Marks the deliveries of the messages as dead, and logs the failures. Rejects if the store does; the
   * notification must then not be acknowledged.
   */
  async record(faults: readonly PlatformFault[], verified: readonly FailureSubscriber[]): Promise<void> {
    for (const number of new Set(faults.map(({ phoneNumberId }) => phoneNumberId))) {
      const subscriber = verified.find(({ trigger }) => trigger.config.phone_number_id === number);
      if (subscriber === undefined) continue;
      const ofNumber = faults.filter(({ phoneNumberId }) => phoneNumberId === number);
      const ofMessages = ofNumber.filter((fault): fault is MessageFault => fault.messageId !== undefined);
      const ids = await this.#undeliver(subscriber, number, ofMessages);
      logFaults(subscriber, ofNumber, new Map(ofMessages.map((fault, index) => [fault, ids[index]])));
    }
  }

  async #undeliver(
    subscriber: FailureSubscriber,
    number: string,
    faults: readonly MessageFault[],
  ): Promise<readonly (string | undefined)[]> {
    if (faults.length === 0) return [];
    const messages = faults.map((fault) => ({ receipt: fault.messageId, note: noteOf(fault) }));
    const ids = [...(await subscriber.host.undeliver(PLATFORM, number, messages))];
    if (this.#delayed >= MAX_DELAYED) return ids;
    this.#delayed += 1;
    try {
      const deadline = performance.now() + WAIT_MS;
      for (let pauseMs = FIRST_PAUSE_MS; ids.includes(undefined); pauseMs *= 2) {
        if (!this.#sending.isSending(number) || performance.now() > deadline) break;
        await sleep(pauseMs);
        const missing = [...ids.keys()].filter((index) => ids[index] === undefined);
        const results = await subscriber.host.undeliver(
          PLATFORM,
          number,
          missing.flatMap((index) => messages[index] ?? []),
        );
        for (const [at, index] of missing.entries()) ids[index] = results[at];
      }
      return ids;
    } finally {
      this.#delayed -= 1;
    }
  }
}

/** Returns the note, which is the same as for an immediate refusal. */
function noteOf({ code, text }: PlatformFault): string {
  if (code === undefined) return `not delivered: ${text || 'no reason from the platform'}`;
  return platformNote(businessMessengerErrors, code, text);
}

function logFaults(
  { host: { log }, trigger }: FailureSubscriber,
  faults: readonly PlatformFault[],
  deliveries: ReadonlyMap<PlatformFault, string | undefined>,
): void {
  const ownFaults = faults.filter(
    (fault) => fault.messageId === undefined || deliveries.get(fault) !== undefined,
  );
  for (const fault of ownFaults.slice(0, MAX_LINES)) {
    const { messageId, code } = fault;
    const fields = { trigger: trigger.name, message: messageId, code, reason: noteOf(fault) };
    if (messageId === undefined) log.warn(fields, 'the platform reported a failure for a phone number');
    else
      log.warn(
        { ...fields, delivery: deliveries.get(fault) },
        'the platform did not deliver an accepted message',
      );
  }
  const remaining = ownFaults.length - MAX_LINES;
  if (remaining > 0)
    log.warn({ trigger: trigger.name, count: remaining }, 'the platform did not deliver further messages');
  // Other programs may send from the same number.
  const loggedFaults = new Set(ownFaults);
  const first = faults.find((fault) => !loggedFaults.has(fault));
  if (first === undefined) return;
  const { messageId, code } = first;
  const count = faults.length - ownFaults.length;
  log.warn(
    { trigger: trigger.name, message: messageId, code, reason: noteOf(first), count },
    'the platform did not deliver messages that this gateway has no deliveries for',
  );
}
