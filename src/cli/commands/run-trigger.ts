// `triggers run`: runs a trigger of type Manual after its questions, waits for the answer and prints it.

import { createInterface, type Interface } from 'node:readline/promises';
import { type Command, Option } from 'commander';
import type { RunResponse, TriggerRecord } from '../../http/api/trigger-shapes.ts';
import { printable, printableLines } from '../../terminal/terminal-text.ts';
import type { ApiClient, ApiResponse } from '../api/api-client.ts';
import { UsageError } from '../api/target-options.ts';
import { keyValue } from '../option-values.ts';
import { waitText } from '../views/automation-views.ts';
import type { Operation, Situation } from './operation.ts';
import { explainUnknownTrigger, triggerPath } from './resource-requests.ts';

const WAIT_SECONDS = 300;
/** The gateway bounds a wait, too. */
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
      .option('--command <text>', 'the command to run, with its parameters behind it')
      .option('--input <key=value...>', 'a parameter; may be given several times', keyValue)
      .option('--text <text>', 'what to say instead of a command')
      .option('--interactive', 'ask for what is missing')
      .option('--yes', 'do not ask for confirmation')
      .option('--no-wait', 'do not wait for the answer')
      .addOption(
        new Option('-o, --output <format>', 'json: as --json').choices(['json']).implies({ json: true }),
      );
  },
  ask: async (situation: Situation): Promise<ApiResponse> => {
    const { client, args, timeoutMs } = situation;
    const [name = ''] = args;
    const options = situation.options as unknown as RunOptions;
    const trigger = (await client.ask('GET', triggerPath(name), timeoutMs)).body as TriggerRecord;
    // Of another type it is refused below, before anybody was asked anything.
    const isManual = trigger.type === 'Manual';
    const { command, input } = await completed(trigger, options, isManual && options.interactive === true);
    if (isManual && trigger.requires_confirmation && options.yes !== true) await confirmed(trigger, command);
    const waitSeconds = options.wait ? Math.min(LONGEST_WAIT_SECONDS, timeoutMs / 1000) : 0;
    return post(client, name, timeoutMs, {
      command,
      input,
      text: options.text ?? '',
      confirmed: true,
      wait_seconds: waitSeconds,
    });
  },
  show: ({ body }: ApiResponse) => {
    const { id, state, answer, note, ...wait } = body as RunResponse;
    if (state === 'done' || answer !== null) return [printableLines(answer ?? '')];
    if (state === 'accepted')
      return [`${printable(id)} is accepted; "deliveries show ${printable(id)}" tells how it ends`];
    if (state === 'waiting')
      return [
        `${printable(id)} waits for ${waitText(wait)}; "deliveries show ${printable(id)}" tells how it ends`,
      ];
    return [`${printable(id)} is ${state}${note === null ? '' : `: ${printable(note)}`}`];
  },
  /** Not done, and nothing more will be. */
  exitCode: ({ body }: ApiResponse) => (['dead', 'ignored'].includes((body as RunResponse).state) ? 1 : 0),
  explain: explainUnknownTrigger,
} satisfies Operation;

/** The request waits as long as the run may take, and a little for its way. */
function post(client: ApiClient, name: string, timeoutMs: number, body: unknown): Promise<ApiResponse> {
  return client.ask('POST', triggerPath(name, 'run'), timeoutMs + 5_000, { body });
}

/** What was given, and under --interactive what a person adds. */
async function completed(trigger: TriggerRecord, options: RunOptions, isAsked: boolean) {
  const input: Record<string, string> = { ...options.input };
  let command = options.command ?? '';
  if (!isAsked) return { command, input };
  if (process.stdin.isTTY !== true) throw new UsageError('--interactive needs a terminal');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const names = trigger.commands.map((each) => each.command);
    if (command === '' && options.text === undefined && names.length > 0)
      command = await asked(terminal, `command (${names.join(', ')}): `);
    const [word = ''] = command.replace(/^\//, '').split(/\s/, 1);
    const parameters = trigger.commands.find((each) => each.command === word)?.parameters ?? [];
    for (const { name, required, description, default: given } of parameters) {
      if (!required || given !== undefined || input[name] !== undefined || command.trim() !== word) continue;
      input[name] = await asked(terminal, `${name}${description === undefined ? '' : ` (${description})`}: `);
    }
    return { command, input };
  } finally {
    terminal.close();
  }
}

/** Throws UsageError where nobody can be asked, or somebody says no. */
async function confirmed({ name }: TriggerRecord, command: string): Promise<void> {
  if (process.stdin.isTTY !== true) throw new UsageError(`${name} asks for confirmation; --yes gives it`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const said = await asked(terminal, `Run ${name}${command === '' ? '' : ` ${command}`}? [y/N] `);
    if (!/^y(es)?$/i.test(said.trim())) throw new UsageError('not confirmed; nothing was run');
  } finally {
    terminal.close();
  }
}

/** Throws UsageError when the question is left with Ctrl-C or Ctrl-D. */
async function asked(terminal: Interface, question: string): Promise<string> {
  try {
    return await terminal.question(printable(question));
  } catch (error) {
    if ((error as Error).name !== 'AbortError') throw error;
    process.stderr.write('\n');
    throw new UsageError('given up; nothing was run');
  }
}
