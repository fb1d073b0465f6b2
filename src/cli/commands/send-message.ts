// `triggers send`: sends a message to a chat conversation through a trigger. With --wait it polls the
// delivery of the message and prints the result.

import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import type { DeliveryDetails } from '../../http/api/delivery-shapes.ts';
import type { SendResponse } from '../../http/api/trigger-shapes.ts';
import { printable } from '../../terminal/terminal-text.ts';
import type { ApiProblem, GatewayResponse } from '../api/client.ts';
import { CommandLineError } from '../api/target-options.ts';
import { deliveryLine } from '../views/automation.ts';
import { shellWord } from '../views/shell-word.ts';
import type { CommandContext, Operation } from './operation.ts';
import { explainUnknownTrigger, triggerPath } from './resource-requests.ts';
import { readStdin } from './stdin-text.ts';

const SEND_SECONDS = 30;
const POLL_MS = 300;
const FINAL_STATES = ['done', 'dead', 'ignored'];

interface SendOptions {
  readonly conversation?: string;
  readonly text?: string;
  readonly title?: string;
  readonly wait?: boolean;
  readonly idempotencyKey?: string;
}

interface SendResult extends SendResponse {
  /** States of the deliveries. Set with --wait. */
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
      .option('--conversation <name>', 'conversation, as shown by "deliveries show ID"')
      .option('--text <text>', 'text of the message; - reads it from stdin')
      .option('--title <text>', 'title above the text')
      .option('--wait', 'wait until the message was sent or has failed')
      .option('--idempotency-key <key>', 'send only one message per key');
  },
  request: async ({
    client,
    args: [name = ''],
    options,
    timeoutMs,
  }: CommandContext): Promise<GatewayResponse> => {
    const { conversation, text, title, wait, idempotencyKey } = options as SendOptions;
    if (conversation === undefined)
      throw new CommandLineError(
        'the conversation is missing; add --conversation NAME ("deliveries show ID" prints it)',
      );
    if (text === undefined && title === undefined)
      throw new CommandLineError('the text is missing; add --text TEXT, or --text - to read it from stdin');
    const body = { conversation, text: text === '-' ? await readStdin() : text, title };
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
    const deadline = performance.now() + timeoutMs;
    const response = await client.request('POST', triggerPath(name, 'send'), timeoutMs, { body, headers });
    if (wait !== true) return response;
    const { deliveries } = response.body as SendResponse;
    const states: DeliveryDetails[] = [];
    for (const id of deliveries) states.push(await awaitFinalState(client, id, timeoutMs, deadline));
    const result: SendResult = {
      deliveries,
      states: states.map(({ id, state, note }) => ({ id, state, note })),
    };
    return { ...response, body: result, text: JSON.stringify(result) };
  },
  show: ({ body }: GatewayResponse) => {
    const { deliveries, states } = body as SendResult;
    if (states === undefined)
      return deliveries.map(
        (id) => `${printable(id)} is accepted; "deliveries show ${shellWord(id)}" shows whether it was sent`,
      );
    return states.map((each) => {
      if (each.state === 'done') return `${printable(each.id)} is sent`;
      const note = each.note === null ? '' : `: ${printable(each.note)}`;
      return `${deliveryLine(each)}${note}`;
    });
  },
  exitCode: ({ body }: GatewayResponse) =>
    ((body as SendResult).states ?? []).some(({ state }) => state !== 'done') ? 1 : 0,
  explain: async (problem: ApiProblem, context: CommandContext) =>
    problem.response?.status === 400
      ? new CommandLineError(printable(problem.message))
      : explainUnknownTrigger(problem, context),
} satisfies Operation;

/** Polls the delivery until the state is final or the timeout expires. */
async function awaitFinalState(
  client: CommandContext['client'],
  id: string,
  timeoutMs: number,
  deadline: number,
): Promise<DeliveryDetails> {
  for (;;) {
    const path = `deliveries/${encodeURIComponent(id)}`;
    const delivery = (await client.request('GET', path, timeoutMs)).body as DeliveryDetails;
    if (FINAL_STATES.includes(delivery.state) || performance.now() + POLL_MS > deadline) return delivery;
    await pause(POLL_MS);
  }
}
