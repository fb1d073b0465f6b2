// `run agent NAME`: asks an agent once. Its answer is all that stdout has; on a terminal stderr shows what it does meanwhile.

import type { Command } from 'commander';
import type { ApiResponse } from '../api/api-client.ts';
import type { RunAnswer } from '../api/api-responses.ts';
import { seconds, UsageError } from '../api/target-options.ts';
import { AskedRun, heedSignals } from '../chat/asked-run.ts';
import { type ApprovalNews, followRun, type ToolNews } from '../chat/followed-run.ts';
import { declareFiles, FILES_HELP } from '../chat/local-files.ts';
import { complainOf, troubles, waitingLine } from '../chat/troubles.ts';
import { complain } from '../views/output.ts';
import { isTerminal, paintFor } from '../views/paint.ts';
import { leftLine, UNENDED_LINE } from '../views/run-views.ts';
import { printable, printableLines } from '../views/terminal-text.ts';
import { explainUnknownAgent } from './get-operations.ts';
import type { Operation, Situation } from './operation.ts';
import { readStdin } from './stdin-text.ts';

const WAIT_SECONDS = 600;
const WAITS = 3;

interface RunOptions {
  readonly input?: string;
  readonly session?: string;
  readonly user?: string;
  readonly wait?: number;
  /** The gateway ends with the command. */
  readonly file?: readonly string[];
}

export const runAgent = {
  description: 'Ask an agent, and print its answer.',
  args: [['<name>', 'name of an agent']],
  examples: [
    'run agent oncall --input "what is wrong with the shop?"',
    'run agent notes --input - --session monday < notes.txt',
    'run agent notes --input "what is in the folder?" -f agents/notes.yaml',
  ],
  help: `${FILES_HELP}
Exit code 3: it waits for approval; stderr says which, and how to decide.`,
  isWithOwnGateway: true,
  timeoutSeconds: WAIT_SECONDS,
  declare: (command: Command) => {
    command
      .option('--input <text>', 'what to ask; - reads it from stdin')
      .option('--session <name>', 'the conversation that it is of (default: one of its own)')
      .option('--user <name>', 'who asks, as the agent and approvals are told')
      .option('--wait <seconds>', 'longest wait for the answer, as --timeout', seconds(0.1, 3600));
    declareFiles(command);
  },
  ask: async ({ client, args: [agent = ''], options, timeoutMs }: Situation): Promise<ApiResponse> => {
    const { input, session, user, wait, file } = options as RunOptions;
    if (input === undefined)
      throw new UsageError('--input TEXT says what to ask; with --input - it is read from stdin');
    const text = input === '-' ? await readStdin() : input;
    if (text === '') throw new UsageError('there is nothing to ask: what --input gives is empty');
    const question = { agent, input: text, session, user };
    const body = await answerOf(
      client,
      question,
      wait === undefined ? timeoutMs : wait * 1000,
      file !== undefined,
    );
    return { status: 200, body, text: JSON.stringify(body) };
  },
  show: ({ body }: ApiResponse) => {
    const { state, answer } = body as RunAnswer;
    return state === 'done' && answer !== null && answer !== '' ? [printableLines(answer)] : [];
  },
  exitCode: ({ body }: ApiResponse) => {
    const { state, waiting_for } = body as Pick<RunAnswer, 'state' | 'waiting_for'>;
    if (state === 'done') return 0;
    return waiting_for === 'approval' ? WAITS : 1;
  },
  explain: explainUnknownAgent,
} satisfies Operation;

/** The end of the run, or how it stands when nobody waits any longer: then what is to be done is told on stderr. */
async function answerOf(
  client: Situation['client'],
  question: Parameters<typeof followRun>[1],
  timeoutMs: number,
  endsWithIt: boolean,
): Promise<object> {
  const run = new AskedRun(client, complainOf);
  const timer = setTimeout(run.leave, timeoutMs);
  const heedNoMore = heedSignals(run.interrupt, run.leave);
  const asked: ApprovalNews[] = [];
  let last: object = {};
  try {
    const end = await followRun(
      client,
      question,
      {
        ...troubles,
        onTool: tellTool,
        onBegun: (begun) => {
          run.begun(begun.id);
          last = begun;
        },
        onApproval: (approval) => {
          if (approval.state === 'pending') asked.push(approval);
        },
        onState: (state) => {
          troubles.onState(state);
          last = state;
          if (state.waiting_for === 'approval') run.leave();
        },
      },
      run.left,
    );
    if (end.state !== 'done')
      complain(`${printable(end.id)} is ${end.state}${end.note === null ? '' : `: ${printable(end.note)}`}`);
    return end;
  } catch (error) {
    if (!run.left.aborted) throw error;
    for (const approval of asked) complain(waitingLine(approval, question.agent, endsWithIt));
    if (run.goesOn && !endsWithIt) complain(printable(leftLine(run.id ?? '')));
    if (run.goesOn && endsWithIt && asked.length === 0) complain(UNENDED_LINE);
    return { ...last, approvals: asked.map((each) => each.id) };
  } finally {
    clearTimeout(timer);
    heedNoMore();
  }
}

function tellTool({ name = '', state }: ToolNews): void {
  const { stderr, env } = process;
  if (isTerminal(stderr, env)) complain(paintFor(stderr, env)('faint', printable(`${name} ${state}`)));
}
