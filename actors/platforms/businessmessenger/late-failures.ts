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
import type { PlatformFailure } from './notification.ts';
import type { SendsInProgress } from './sends-in-progress.ts';

const PLATFORM = 'businessmessenger';
const WAIT_MS = 3_000;
const FIRST_PAUSE_MS = 25;
/** Maximum number of delayed notifications. */
const MAX_DELAYED = 64;
const MAX_LINES = 20;

type FailureSubscriber = WebhookSubscriber<BusinessMessengerTrigger>;

type MessageFailure = PlatformFailure & { readonly messageId: string };

export class LateFailures {
  readonly #sending: SendsInProgress;
  #delayed = 0;

  constructor(sending: SendsInProgress) {
    this.#sending = sending;
  }

  /**
   * Marks the deliveries of the messages as dead, and logs the failures. Rejects if the store does; the
   * notification must then not be acknowledged.
   */
  async record(failures: readonly PlatformFailure[], verified: readonly FailureSubscriber[]): Promise<void> {
    for (const number of new Set(failures.map(({ phoneNumberId }) => phoneNumberId))) {
      const subscriber = verified.find(({ trigger }) => trigger.config.phone_number_id === number);
      if (subscriber === undefined) continue;
      const ofNumber = failures.filter(({ phoneNumberId }) => phoneNumberId === number);
      const ofMessages = ofNumber.filter(
        (failure): failure is MessageFailure => failure.messageId !== undefined,
      );
      const ids = await this.#undeliver(subscriber, number, ofMessages);
      logFailures(subscriber, ofNumber, new Map(ofMessages.map((failure, index) => [failure, ids[index]])));
    }
  }

  async #undeliver(
    subscriber: FailureSubscriber,
    number: string,
    failures: readonly MessageFailure[],
  ): Promise<readonly (string | undefined)[]> {
    if (failures.length === 0) return [];
    const messages = failures.map((failure) => ({ receipt: failure.messageId, note: noteOf(failure) }));
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
function noteOf({ code, text }: PlatformFailure): string {
  if (code === undefined) return `not delivered: ${text || 'no reason from the platform'}`;
  return platformNote(businessMessengerErrors, code, text);
}

function logFailures(
  { host: { log }, trigger }: FailureSubscriber,
  failures: readonly PlatformFailure[],
  deliveries: ReadonlyMap<PlatformFailure, string | undefined>,
): void {
  const ownFailures = failures.filter(
    (failure) => failure.messageId === undefined || deliveries.get(failure) !== undefined,
  );
  for (const failure of ownFailures.slice(0, MAX_LINES)) {
    const { messageId, code } = failure;
    const fields = { trigger: trigger.name, message: messageId, code, reason: noteOf(failure) };
    if (messageId === undefined) log.warn(fields, 'the platform reported a failure for a phone number');
    else
      log.warn(
        { ...fields, delivery: deliveries.get(failure) },
        'the platform did not deliver an accepted message',
      );
  }
  const remaining = ownFailures.length - MAX_LINES;
  if (remaining > 0)
    log.warn({ trigger: trigger.name, count: remaining }, 'the platform did not deliver further messages');
  // Other programs may send from the same number.
  const loggedFailures = new Set(ownFailures);
  const first = failures.find((failure) => !loggedFailures.has(failure));
  if (first === undefined) return;
  const { messageId, code } = first;
  const count = failures.length - ownFailures.length;
  log.warn(
    { trigger: trigger.name, message: messageId, code, reason: noteOf(first), count },
    'the platform did not deliver messages that this gateway has no deliveries for',
  );
}
