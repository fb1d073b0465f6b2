// `agents chat`: a conversation with an agent. On a terminal, TerminalChat streams the answers and shows tool
// calls and approval questions. If stdin is no terminal, each line is a question, and stdout receives the
// answers.

import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { agentTarget } from '../../../config/resources/triggers/target.ts';
import type { ApprovalEvent } from '../../http/api/run-events.ts';
import { isTerminal } from '../../terminal/paint.ts';
import { printable, printableLines } from '../../terminal/terminal-text.ts';
import type { ApiClient } from '../api/client.ts';
import { declareTarget } from '../api/target-options.ts';
import type { CommandModule } from '../command.ts';
import { print, printMessage } from '../views/output.ts';
import { detachedLine } from '../views/runs.ts';
import { WAITING_EXIT_CODE } from './await-run.ts';
import { CancellableRun, handleSignals } from './cancellable-run.ts';
import { TerminalChat } from './conversation.ts';
import { declareLocalFiles, LOCAL_FILES_HELP } from './files-option.ts';
import { followRun, type RunListener } from './follow-run.ts';
import { approvalWaitLine, printError, runNotices } from './run-notices.ts';
import { type GatewayOptions, withGateway } from './with-gateway.ts';

interface Options extends GatewayOptions {
  readonly agent: string;
  readonly session: string;
  readonly user: string | undefined;
}

const after = `
Ctrl-C cancels the current answer; a second Ctrl-C, /exit and Ctrl-D close the chat.
${LOCAL_FILES_HELP}`;

/** Default of --timeout: time for the gateway to accept a question. */
const ASK_SECONDS = 30;
/** Timeout of the request that checks the agent's name. */
const CHECK_MS = 10_000;

export const chat: CommandModule = {
  examples: [
    'actor-gateway agents chat oncall',
    'actor-gateway agents chat notes -f agents/notes.yaml',
    'echo "what is new?" | actor-gateway agents chat oncall --session monday',
  ],
  declare: (command) => {
    command
      .option('--session <name>', 'continue the conversation of that name (default: a new one)')
      .option('--user <name>', 'name of the user, for the agent and for approvals')
      .addHelpText('after', after);
    declareLocalFiles(command);
    // Completes the list of exit codes in the help.
    declareTarget(command, ASK_SECONDS, ', 3 waiting for approval without a terminal');
  },
  run: (command) => {
    const { session = `chat-${randomUUID().slice(0, 8)}`, ...options } = command.opts<Partial<Options>>();
    return runChat({ user: undefined, ...options, session, agent: command.args[0] ?? '' });
  },
};

/** Runs the chat until the person leaves, and returns the exit code. */
function runChat(options: Options): Promise<number> {
  const isScreen = isTerminal(process.stdout, process.env) && process.stdin.isTTY === true;
  return withGateway(options, async (client) => {
    await checkAgent(client, options.agent);
    return isScreen ? new TerminalChat(client, options).run() : answerLines(client, options);
  });
}

/** Throws ApiProblem if the agent is unknown, before the person types a question. */
async function checkAgent(client: ApiClient, agent: string): Promise<void> {
  const { requestTarget } = await import('../commands/resource-requests.ts');
  await requestTarget(client, 'agent', agent, CHECK_MS);
}

/**
 * Sends the lines of stdin in order, each after the previous answer. Returns the highest exit code of the
 * answers.
 */
async function answerLines(client: ApiClient, options: Options): Promise<number> {
  const lines = createInterface({ input: process.stdin, terminal: false });
  let run: CancellableRun | undefined;
  const stopHandling = handleSignals({
    onInterrupt: () => (run === undefined ? lines.close() : void run.interrupt()),
    onTerminate: () => (run === undefined ? lines.close() : run.detach()),
  });
  let code = 0;
  try {
    for await (const line of lines) {
      if (line.trim() === '') continue;
      if (line.trim() === '/exit') break;
      run = new CancellableRun(client, printError);
      const result = await answerLine(client, options, line, run);
      run = undefined;
      code = Math.max(code, result.code);
      if (result.isLast) break;
    }
    return code;
  } finally {
    stopHandling();
  }
}

/** Sends one line and prints the answer. `isLast`: the remaining lines are not sent. */
async function answerLine(
  client: ApiClient,
  options: Options,
  input: string,
  run: CancellableRun,
): Promise<{ readonly code: number; readonly isLast: boolean }> {
  let approval: ApprovalEvent | undefined;
  const listener: RunListener = {
    ...runNotices,
    onStart: ({ id }) => run.setId(id),
    onApproval: (event) => {
      if (event.state === 'pending') approval = event;
    },
    onState: (state) => {
      runNotices.onState(state);
      if (state.waiting_for === 'approval') run.detach();
    },
  };
  try {
    const { id, state, note, answer } = await followRun(
      client,
      { ...options, target: agentTarget(options.agent), input },
      listener,
      run.detachSignal,
    );
    if (state === 'done') {
      const isRead = await print(`${printableLines(answer ?? '')}\n`);
      // If the reader of stdout has closed it, further answers would be lost.
      return { code: 0, isLast: !isRead };
    }
    printMessage(`${printable(id)} is ${state}: ${printable(note ?? '')}`);
    // After Ctrl-C, the remaining lines are discarded too.
    return { code: 1, isLast: state === 'cancelled' };
  } catch (error) {
    if (!run.detachSignal.aborted) throw error;
    // `detach` aborts followRun, for an approval or a signal; this is not an error.
    const isLocalGateway = options.file !== undefined;
    if (approval !== undefined)
      printMessage(approvalWaitLine(approval, agentTarget(options.agent), { isLocalGateway }));
    else if (run.isDetached && !isLocalGateway) printMessage(printable(detachedLine(run.id ?? '')));
    return { code: approval === undefined ? 1 : WAITING_EXIT_CODE, isLast: true };
  }
}
