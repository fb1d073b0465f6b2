// `triggers run`: runs a trigger of type Manual and prints the answer. Asks for missing parameters and for
// confirmation.

import { createInterface, type Interface } from 'node:readline/promises';
import { type Command, Option } from 'commander';
import type { RunResponse, TriggerRecord } from '../../http/api/trigger-shapes.ts';
import { printable, printableLines } from '../../terminal/terminal-text.ts';
import type { ApiClient, GatewayResponse } from '../api/client.ts';
import { requestApprovals } from '../api/pending-approvals.ts';
import { CommandLineError } from '../api/target-options.ts';
import { collectKeyValue } from '../option-values.ts';
import { waitText } from '../views/automation.ts';
import { shellWord } from '../views/shell-word.ts';
import type { CommandContext, Operation } from './operation.ts';
import { explainUnknownTrigger, triggerPath } from './resource-requests.ts';

const WAIT_SECONDS = 300;
/** Limit of the gateway for `wait_seconds`. */
const LONGEST_WAIT_SECONDS = 600;

interface RunOptions {
  readonly command?: string;
  readonly input?: Readonly<Record<string, string>>;
  readonly text?: string;
  readonly interactive?: boolean;
  readonly yes?: boolean;
  readonly wait: boolean;
}

export const runTrigger = {
  examples: [
    'triggers run release --command "ship 1.2.3" --yes',
    'triggers run release --command ship --input version=1.2.3 --json',
    'triggers run notes --text "what has changed?" --no-wait',
  ],
  timeoutSeconds: WAIT_SECONDS,
  declare: (command: Command) => {
    command
      .option('--command <text>', 'command to run, followed by its parameters')
      .option('--input <key=value...>', 'a parameter; repeatable', collectKeyValue)
      .option('--text <text>', 'text instead of a command')
      .option('--interactive', 'ask for missing parameters')
      .option('--yes', 'do not ask for confirmation')
      .option('--no-wait', 'do not wait for the answer')
      .addOption(
        new Option('-o, --output <format>', 'json: same as --json').choices(['json']).implies({ json: true }),
      );
  },
  request: async (context: CommandContext): Promise<GatewayResponse> => {
    const { client, args, timeoutMs } = context;
    const [name = ''] = args;
    const options = context.options as unknown as RunOptions;
    const trigger = (await client.request('GET', triggerPath(name), timeoutMs)).body as TriggerRecord;
    // Ask no questions for other types; the gateway will reject the request.
    const isManual = trigger.type === 'Manual';
    const { command, input } = await completeInput(
      trigger,
      options,
      isManual && options.interactive === true,
    );
    if (isManual && trigger.requires_confirmation && options.yes !== true) await confirmRun(trigger, command);
    const waitSeconds = options.wait ? Math.min(LONGEST_WAIT_SECONDS, timeoutMs / 1000) : 0;
    return sendRun(client, name, timeoutMs, {
      command,
      input,
      text: options.text ?? '',
      confirmed: true,
      wait_seconds: waitSeconds,
    });
  },
  show: async ({ body }: GatewayResponse, context: CommandContext) => {
    const { id, state, answer, note, ...wait } = body as RunResponse;
    if (state === 'done' || answer !== null) return [printableLines(answer ?? '')];
    if (state === 'accepted')
      return [`${printable(id)} is accepted; "deliveries show ${shellWord(id)}" shows its result`];
    if (state === 'waiting') {
      const delivery = { id, ...wait };
      const approvals = await requestApprovals([delivery], context);
      const decisions = (approvals.get(id) ?? []).map(
        (each) => `"approvals approve ${shellWord(each)}" or "approvals deny ${shellWord(each)}" decides`,
      );
      return [
        `${printable(id)} waits for ${waitText(delivery, approvals)}; "deliveries show ${shellWord(id)}" shows its result`,
        ...decisions,
      ];
    }
    return [`${printable(id)} is ${state}${note === null ? '' : `: ${printable(note)}`}`];
  },
  /** Returns 1 if the event was not handled. */
  exitCode: ({ body }: GatewayResponse) =>
    ['dead', 'ignored'].includes((body as RunResponse).state) ? 1 : 0,
  explain: explainUnknownTrigger,
} satisfies Operation;

/** Sends the request. Its timeout is longer than `wait_seconds`, to leave time for the transmission. */
function sendRun(
  client: ApiClient,
  name: string,
  timeoutMs: number,
  body: unknown,
): Promise<GatewayResponse> {
  return client.request('POST', triggerPath(name, 'run'), timeoutMs + 5_000, { body });
}

/** Returns command and parameters from the options. With --interactive, prompts for missing parameters. */
async function completeInput(trigger: TriggerRecord, options: RunOptions, isInteractive: boolean) {
  const input: Record<string, string> = { ...options.input };
  let command = options.command ?? '';
  if (!isInteractive) return { command, input };
  if (process.stdin.isTTY !== true) throw new CommandLineError('--interactive needs a terminal');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const names = trigger.commands.map((each) => each.command);
    if (command === '' && options.text === undefined && names.length > 0)
      command = await askQuestion(terminal, `command (${names.join(', ')}): `);
    const [commandName = ''] = command.replace(/^\//, '').split(/\s/, 1);
    const parameters = trigger.commands.find((each) => each.command === commandName)?.parameters ?? [];
    for (const { name, required, description, default: defaultValue } of parameters) {
      if (
        !required ||
        defaultValue !== undefined ||
        input[name] !== undefined ||
        command.trim() !== commandName
      )
        continue;
      input[name] = await askQuestion(
        terminal,
        `${name}${description === undefined ? '' : ` (${description})`}: `,
      );
    }
    return { command, input };
  } finally {
    terminal.close();
  }
}

/** Asks for confirmation. Throws CommandLineError if stdin is not a terminal or the person declines. */
async function confirmRun({ name }: TriggerRecord, command: string): Promise<void> {
  if (process.stdin.isTTY !== true) throw new CommandLineError(`${name} requires confirmation; add --yes`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const reply = await askQuestion(terminal, `Run ${name}${command === '' ? '' : ` ${command}`}? [y/N] `);
    if (!/^y(es)?$/i.test(reply.trim())) throw new CommandLineError('not confirmed; nothing was run');
  } finally {
    terminal.close();
  }
}

/** Asks a question. Throws CommandLineError on Ctrl-C and Ctrl-D. */
async function askQuestion(terminal: Interface, question: string): Promise<string> {
  try {
    return await terminal.question(printable(question));
  } catch (error) {
    if ((error as Error).name !== 'AbortError') throw error;
    process.stderr.write('\n');
    throw new CommandLineError('cancelled; nothing was run');
  }
}
