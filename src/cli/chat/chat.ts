// `chat AGENT`: a conversation with an agent, line by line. On a terminal its answer is shown as it grows, with the tools that it calls,
// and what it asks people is asked here; elsewhere each line of stdin is asked, and stdout has the answers.

import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { ApiClient } from '../api/api-client.ts';
import { declareTarget, refuseBareKey, targetHelp } from '../api/target-options.ts';
import { parseProgram } from '../command.ts';
import { sentenceOf } from '../command-list.ts';
import { complain, print } from '../views/output.ts';
import { isTerminal } from '../views/paint.ts';
import { printable, printableLines } from '../views/terminal-text.ts';
import { type ApprovalNews, followRun } from './followed-run.ts';
import { declareFiles, FILES_HELP } from './local-files.ts';
import { TerminalChat } from './terminal-chat.ts';
import { endedWaiting, type GatewayOptions, withGateway } from './with-gateway.ts';

interface Options extends GatewayOptions {
  readonly agent: string;
  readonly session: string;
  readonly user: string | undefined;
}

const after = `
Ctrl-C cancels what is being answered, and a second one ends; so do /exit and Ctrl-D.
${FILES_HELP}
Examples:
  node dist/main.js chat oncall
  node dist/main.js chat notes -f agents/notes.yaml
  echo "what is new?" | node dist/main.js chat oncall --session monday
${targetHelp}, 3 it waits for approval, and nobody is there to ask`;

const ASK_SECONDS = 30;
const CHANGE_MS = 10_000;
const WAITS = 3;

/** Talks until it is left, and gives the exit code. */
export async function chat(args: readonly string[], version: string): Promise<number> {
  const parsed = parseProgram<Options>(
    {
      name: 'gateway-http chat',
      description: sentenceOf('chat'),
      version,
      after,
      declare: (command) => {
        command
          .argument('<agent>', 'name of an agent')
          .option('--session <name>', 'go on with the conversation of that name (default: a new one)')
          .option('--user <name>', 'who talks, as the agent and approvals are told');
        declareFiles(command);
        declareTarget(command, ASK_SECONDS);
      },
      read: (command) => {
        refuseBareKey(command);
        const {
          session = `chat-${randomUUID().slice(0, 8)}`,
          user,
          ...target
        } = command.opts<GatewayOptions & { session?: string; user?: string }>();
        return { ...target, agent: command.args[0] ?? '', session, user };
      },
    },
    args,
  );
  if (parsed.do === 'exit') return parsed.code;
  const { options } = parsed;
  const isScreen = isTerminal(process.stdout, process.env) && process.stdin.isTTY === true;
  return withGateway(options, async (client) => {
    await checkAgent(client, options.agent);
    return isScreen ? new TerminalChat(client, options).run() : lineByLine(client, options);
  });
}

/** Better now than after the first line was written. */
async function checkAgent(client: ApiClient, agent: string): Promise<void> {
  const { askAgents } = await import('../commands/get-operations.ts');
  await askAgents(client, agent, CHANGE_MS);
}

/** Each line is a question; the next one is asked when it is answered. */
async function lineByLine(client: ApiClient, options: Options): Promise<number> {
  let code = 0;
  for await (const line of createInterface({ input: process.stdin, terminal: false })) {
    if (line.trim() === '') continue;
    if (line.trim() === '/exit') break;
    const waiting = new AbortController();
    let approval: ApprovalNews | undefined;
    try {
      const end = await followRun(
        client,
        { ...options, input: line },
        {
          onApproval: (news) => {
            if (news.state === 'pending') approval = news;
          },
          onState: ({ waiting_for }) => {
            if (waiting_for === 'approval') waiting.abort();
          },
        },
        waiting.signal,
      );
      if (end.state !== 'done') {
        complain(`${printable(end.id)} is ${end.state}: ${printable(end.note ?? '')}`);
        code = 1;
      } else await print(`${printableLines(end.answer ?? '')}\n`);
    } catch (error) {
      if (!waiting.signal.aborted) throw error;
      const { id = '', title = '' } = approval ?? {};
      complain(
        options.file === undefined
          ? `it waits for approval of ${printable(title)}: "approvals approve ${printable(id)}" or "approvals deny ${printable(id)}"`
          : endedWaiting(title, options.agent),
      );
      return WAITS;
    }
  }
  return code;
}
