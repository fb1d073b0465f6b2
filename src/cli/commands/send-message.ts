// `triggers send`: sends a message to a conversation of a trigger; with --wait it also prints the outcome.

import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import type { DeliveryDetails } from '../../http/api/delivery-shapes.ts';
import type { SendResponse } from '../../http/api/trigger-shapes.ts';
import { printable } from '../../terminal/terminal-text.ts';
import type { ApiProblem, ApiResponse } from '../api/api-client.ts';
import { UsageError } from '../api/target-options.ts';
import { deliveryLine } from '../views/automation-views.ts';
import type { Operation, Situation } from './operation.ts';
import { explainUnknownTrigger, triggerPath } from './resource-requests.ts';
import { readStdin } from './stdin-text.ts';

const SEND_SECONDS = 30;
const ASK_AGAIN_MS = 300;
/** None of these is changed by waiting longer. */
const ENDED = ['done', 'dead', 'ignored'];

interface SendOptions {
  readonly conversation?: string;
  readonly text?: string;
  readonly title?: string;
  readonly wait?: boolean;
  readonly idempotencyKey?: string;
}

/** What is known of the deliveries, with --wait. */
interface Sent extends SendResponse {
  readonly states?: readonly Pick<DeliveryDetails, 'id' | 'state' | 'note'>[];
}

export const sendMessage = {
  examples: [
    'triggers send team --conversation botmessenger/4711/-100200300 --text "The release is out." --wait',
    'triggers send team --conversation botmessenger/4711/-100200300 --title Disks --text - < disks.txt',
  ],
  timeoutSeconds: SEND_SECONDS,
  declare: (command: Command) => {
    command
      .option('--conversation <name>', 'where to, as agents are told it and "deliveries show ID" shows it')
      .option('--text <text>', 'what to say; - reads it from stdin')
      .option('--title <text>', 'a title above it')
      .option('--wait', 'wait until it is sent, or never will be')
      .option('--idempotency-key <key>', 'under one key a message is sent once');
  },
  ask: async ({ client, args: [name = ''], options, timeoutMs }: Situation): Promise<ApiResponse> => {
    const { conversation, text, title, wait, idempotencyKey } = options as SendOptions;
    if (conversation === undefined)
      throw new UsageError('--conversation NAME says where to; "deliveries show ID" has that of an event');
    if (text === undefined && title === undefined)
      throw new UsageError('--text TEXT says what; with --text - it is read from stdin');
    const body = { conversation, text: text === '-' ? await readStdin() : text, title };
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
    const endsAt = performance.now() + timeoutMs;
    const accepted = await client.ask('POST', triggerPath(name, 'send'), timeoutMs, { body, headers });
    if (wait !== true) return accepted;
    const { deliveries } = accepted.body as SendResponse;
    const states: DeliveryDetails[] = [];
    for (const id of deliveries) states.push(await ended(client, id, timeoutMs, endsAt));
    const sent: Sent = { deliveries, states: states.map(({ id, state, note }) => ({ id, state, note })) };
    return { ...accepted, body: sent, text: JSON.stringify(sent) };
  },
  show: ({ body }: ApiResponse) => {
    const { deliveries, states } = body as Sent;
    if (states === undefined)
      return deliveries.map(
        (id) => `${printable(id)} is accepted; "deliveries show ${printable(id)}" tells whether it was sent`,
      );
    return states.map((each) => {
      if (each.state === 'done') return `${printable(each.id)} is sent`;
      const note = each.note === null ? '' : `: ${printable(each.note)}`;
      return `${deliveryLine(each)}${note}`;
    });
  },
  exitCode: ({ body }: ApiResponse) =>
    ((body as Sent).states ?? []).some(({ state }) => state !== 'done') ? 1 : 0,
  explain: async (problem: ApiProblem, situation: Situation) =>
    problem.answer?.status === 400
      ? new UsageError(printable(problem.message))
      : explainUnknownTrigger(problem, situation),
} satisfies Operation;

/** The delivery when it has ended, or as it is when the time is up. */
async function ended(
  client: Situation['client'],
  id: string,
  timeoutMs: number,
  endsAt: number,
): Promise<DeliveryDetails> {
  for (;;) {
    const path = `deliveries/${encodeURIComponent(id)}`;
    const delivery = (await client.ask('GET', path, timeoutMs)).body as DeliveryDetails;
    if (ENDED.includes(delivery.state) || performance.now() + ASK_AGAIN_MS > endsAt) return delivery;
    await pause(ASK_AGAIN_MS);
  }
}
