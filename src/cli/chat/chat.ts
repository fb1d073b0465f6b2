// `agents chat`: a conversation with an agent, line by line. On a terminal its answer is shown as it grows, with the tools that it calls,
// and what it asks people is asked here; elsewhere each line of stdin is asked, and stdout has the answers.

import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { agentTarget } from '../../../config/resources/triggers/target.ts';
import type { ApprovalEvent } from '../../http/api/run-events.ts';
import { isTerminal } from '../../terminal/paint.ts';
import { printable, printableLines } from '../../terminal/terminal-text.ts';
import type { ApiClient } from '../api/api-client.ts';
import { declareTarget } from '../api/target-options.ts';
import type { CommandModule } from '../command.ts';
import { complain, print } from '../views/output.ts';
import { leftLine } from '../views/run-views.ts';
import { AskedRun, heedSignals } from './asked-run.ts';
import { followRun, type RunListener } from './followed-run.ts';
import { declareFiles, FILES_HELP } from './local-files.ts';
import { TerminalChat } from './terminal-chat.ts';
import { complainOf, troubles, waitingLine } from './troubles.ts';
import { type GatewayOptions, withGateway } from './with-gateway.ts';

interface Options extends GatewayOptions {
  readonly agent: string;
  readonly session: string;
  readonly user: string | undefined;
}

const after = `
Ctrl-C cancels what is being answered, and a second one ends; so do /exit and Ctrl-D.
${FILES_HELP}
Examples:
  actor-gateway agents chat oncall
  actor-gateway agents chat notes -f agents/notes.yaml
  echo "what is new?" | actor-gateway agents chat oncall --session monday`;

const ASK_SECONDS = 30;
const CHANGE_MS = 10_000;
const WAITS = 3;

export const chat: CommandModule = {
  declare: (command) => {
    command
      .option('--session <name>', 'go on with the conversation of that name (default: a new one)')
      .option('--user <name>', 'who talks, as the agent and approvals are told')
      .addHelpText('after', after);
    declareFiles(command);
    declareTarget(command, ASK_SECONDS, ', 3 it waits for approval, and nobody is there to ask');
  },
  run: (command) => {
    const { session = `chat-${randomUUID().slice(0, 8)}`, ...options } = command.opts<Partial<Options>>();
    return talk({ user: undefined, ...options, session, agent: command.args[0] ?? '' });
  },
};

/** Talks until the person leaves, and returns the exit code. */
function talk(options: Options): Promise<number> {
  const isScreen = isTerminal(process.stdout, process.env) && process.stdin.isTTY === true;
  return withGateway(options, async (client) => {
    await checkAgent(client, options.agent);
    return isScreen ? new TerminalChat(client, options).run() : lineByLine(client, options);
  });
}

/** Better now than after the first line was written. */
async function checkAgent(client: ApiClient, agent: string): Promise<void> {
  const { askOneOf } = await import('../commands/resource-requests.ts');
  await askOneOf(client, 'agent', agent, CHANGE_MS);
}

/** Each line is a question; the next one is asked when it is answered. */
async function lineByLine(client: ApiClient, options: Options): Promise<number> {
  const lines = createInterface({ input: process.stdin, terminal: false });
  let run: AskedRun | undefined;
  const heedNoMore = heedSignals(
    () => (run === undefined ? lines.close() : void run.interrupt()),
    () => (run === undefined ? lines.close() : run.leave()),
  );
  let code = 0;
  try {
    for await (const line of lines) {
      if (line.trim() === '') continue;
      if (line.trim() === '/exit') break;
      run = new AskedRun(client, complainOf);
      const asked = await askLine(client, options, line, run);
      run = undefined;
      code = Math.max(code, asked.code);
      if (asked.isLast) break;
    }
    return code;
  } finally {
    heedNoMore();
  }
}

async function askLine(
  client: ApiClient,
  options: Options,
  input: string,
  run: AskedRun,
): Promise<{ readonly code: number; readonly isLast: boolean }> {
  let approval: ApprovalEvent | undefined;
  const listener: RunListener = {
    ...troubles,
    onBegun: ({ id }) => run.begun(id),
    onApproval: (news) => {
      if (news.state === 'pending') approval = news;
    },
    onState: (state) => {
      troubles.onState(state);
      if (state.waiting_for === 'approval') run.leave();
    },
  };
  try {
    const { id, state, note, answer } = await followRun(
      client,
      { ...options, target: agentTarget(options.agent), input },
      listener,
      run.left,
    );
    if (state === 'done') return { code: 0, isLast: !(await print(`${printableLines(answer ?? '')}\n`)) };
    complain(`${printable(id)} is ${state}: ${printable(note ?? '')}`);
    // Whoever cancels it wants no more of it.
    return { code: 1, isLast: state === 'cancelled' };
  } catch (error) {
    if (!run.left.aborted) throw error;
    const isOwn = options.file !== undefined;
    if (approval !== undefined) complain(waitingLine(approval, agentTarget(options.agent), isOwn));
    else if (run.goesOn && !isOwn) complain(printable(leftLine(run.id ?? '')));
    return { code: approval === undefined ? 1 : WAITS, isLast: true };
  }
}
