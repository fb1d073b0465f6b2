// Offers fleet members as tools to the manager: `ask_security` calls the member `security`. Each call is a
// part of the run, `security/call_1_0`, with rows in the same journal. Members do not get these tools. An
// interrupted call continues at the member's last step; a finished call is not repeated and returns the same
// result. The manager receives a member's failure as a result. Up to `concurrency` members work in parallel.

import type { Fleet, FleetMember } from '../../../config/resources/fleets/fleet.ts';
import type { AgentReply } from '../handlers/handler.ts';
import { isParked, type Parked } from '../handlers/parked.ts';
import {
  type AgentTool,
  type CallOptions,
  RUN_SERVER,
  type RunTools,
  type ToolBoxAnswer,
} from '../model-agent/tool-box.ts';
import { limitText } from '../model-agent/tool-result.ts';
import { messageOf } from '../parts/failure-reason.ts';
import type { PartsJournal } from '../parts/journal.ts';

export interface MemberToolsOptions {
  readonly fleet: Pick<Fleet, 'members' | 'concurrency'>;
  readonly journal: PartsJournal;
  /** Runs one attempt of the part `path`. Rejects with the handler's error. */
  ask(member: FleetMember, path: string, input: string, signal: AbortSignal): Promise<AgentReply | Parked>;
}

type JsonObject = Readonly<Record<string, unknown>>;

const PREFIX = 'ask_';

const inputSchema = {
  type: 'object',
  properties: {
    question: {
      type: 'string',
      description: 'Everything the agent has to know: it does not see the conversation.',
    },
  },
  required: ['question'],
} as const;

export class MemberTools implements RunTools {
  readonly #options: MemberToolsOptions;
  /** Callbacks of the calls that wait for a slot. */
  readonly #waiting: (() => void)[] = [];
  /** Number of working members. */
  #working = 0;

  constructor(options: MemberToolsOptions) {
    this.#options = options;
  }

  list(): readonly AgentTool[] {
    // `goesOn`: an interrupted call continues, because the journal has the rows of the member.
    return this.#members.map(({ name, description }) => ({
      server: RUN_SERVER,
      tool: PREFIX + name,
      description: description ?? `Asks the agent ${name} and returns its answer.`,
      inputSchema,
      hints: { isReadOnly: false, isDestructive: false, isIdempotent: true, goesOn: true },
    }));
  }

  async call(
    tool: string,
    { question }: Readonly<Record<string, unknown>>,
    { key, signal }: CallOptions,
  ): Promise<ToolBoxAnswer | Parked> {
    const member = this.#members.find(({ name }) => PREFIX + name === tool);
    if (member === undefined) return { text: `there is no member for ${tool}`, isError: true };
    if (typeof question !== 'string' || question.trim() === '')
      return { text: `not asked: ${tool} needs a question`, isError: true };
    const path = `${member.name}/${key.slice(key.lastIndexOf('/') + 1)}`;
    const before = this.#resultOf(path);
    if (before !== undefined) return before;
    await this.#waitForSlot(signal);
    try {
      return await this.#callMember(member, path, question, signal);
    } finally {
      this.#working -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #callMember(
    member: FleetMember,
    path: string,
    question: string,
    signal: AbortSignal,
  ): Promise<ToolBoxAnswer | Parked> {
    const { journal, ask } = this.#options;
    if (journal.rowsIn(path).length === 0) {
      journal.checkCapacity();
      journal.add({ kind: 'entered', in: path });
      await journal.flush();
    }
    try {
      const reply = await ask(member, path, question, signal);
      if (isParked(reply)) {
        // A parked (suspended) member is called again at each check. A check without effects needs no rows.
        const { steps = [], emit = [], asks = [] } = reply.effects ?? {};
        if (steps.length + emit.length + asks.length > 0)
          journal.addOfPart(path, reply.state, reply.effects ?? {});
        return { parkedOn: reply.parkedOn, wakeInMs: reply.wakeInMs, note: `${member.name} waits` };
      }
      const { text, data, effects } = reply;
      journal.addOfPart(path, undefined, effects ?? {});
      if (this.#endOf(path) === undefined) journal.add({ kind: 'ended', in: path, text, data });
    } catch (error) {
      signal.throwIfAborted();
      journal.add({ kind: 'failed', in: path, reason: messageOf(error) });
    }
    return this.#resultOf(path) ?? { text: 'no result', isError: true };
  }

  #endOf(path: string): JsonObject | undefined {
    const isEnd = (row: JsonObject) => row.in === path && (row.kind === 'ended' || row.kind === 'failed');
    return this.#options.journal.rowsIn(path).find(isEnd);
  }

  #resultOf(path: string): ToolBoxAnswer | undefined {
    const end = this.#endOf(path);
    if (end === undefined) return undefined;
    if (end.kind === 'ended') return { text: limitText(String(end.text)), isError: false };
    return { text: limitText(`It could not answer: ${end.reason}`), isError: true };
  }

  get #members(): readonly FleetMember[] {
    return this.#options.fleet.members.filter(({ isManager }) => !isManager);
  }

  async #waitForSlot(signal: AbortSignal): Promise<void> {
    while (this.#working >= this.#options.fleet.concurrency)
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    this.#working += 1;
    if (!signal.aborted) return;
    this.#working -= 1;
    this.#waiting.shift()?.();
    signal.throwIfAborted();
  }
}
