// The members of a fleet as the tools of its manager: `ask_security` asks the member `security`. Each call is a part of the run of its own,
// `security/call_1_0`, with its rows in the same journal.
//
// MBT1  a call that was interrupted, by the end of a process or since its member waits, goes on where the member was; one that has ended is
//       never made again, and has the same result.
// MBT2  members have no such tools: nobody delegates but the manager.
// MBT3  a member that fails is a result for the manager to judge, and no failure of the fleet.
// MBT4  no more members are at work at a time than `concurrency` says.

import type { Fleet, FleetMember } from '../../../config/resources/fleets/fleet.ts';
import type { AgentReply } from '../handlers/handler.ts';
import { isParked, type Parked } from '../handlers/parked.ts';
import { boundedText } from '../model-agent/tool-answer.ts';
import {
  type CallOptions,
  type FoundTool,
  OF_RUN,
  type RunTools,
  type ToolAnswer,
} from '../model-agent/tool-box.ts';
import { messageOf } from '../parts/message-of.ts';
import type { PartsJournal } from '../parts/parts-journal.ts';

export interface MemberToolsOptions {
  readonly fleet: Pick<Fleet, 'members' | 'concurrency'>;
  readonly journal: PartsJournal;
  /** One attempt at the part `path`. Rejects as a handler does. */
  ask(member: FleetMember, path: string, input: string, signal: AbortSignal): Promise<AgentReply | Parked>;
}

type Row = Readonly<Record<string, unknown>>;

const PREFIX = 'ask_';

const inputSchema = {
  type: 'object',
  properties: {
    question: {
      type: 'string',
      description: 'All that it has to know: it has not heard what was said before.',
    },
  },
  required: ['question'],
} as const;

export class MemberTools implements RunTools {
  readonly #options: MemberToolsOptions;
  readonly #waiting: (() => void)[] = [];
  #atWork = 0;

  constructor(options: MemberToolsOptions) {
    this.#options = options;
  }

  list(): readonly FoundTool[] {
    return this.#members.map(({ name, description }) => ({
      server: OF_RUN,
      tool: PREFIX + name,
      description: description ?? `Asks ${name}, which is another agent, and gives its answer.`,
      inputSchema,
      hints: { isReadOnly: false, isDestructive: false, isIdempotent: true, goesOn: true },
    }));
  }

  async call(
    tool: string,
    { question }: Readonly<Record<string, unknown>>,
    { key, signal }: CallOptions,
  ): Promise<ToolAnswer | Parked> {
    const member = this.#members.find(({ name }) => PREFIX + name === tool);
    if (member === undefined) return { text: `there is no member for ${tool}`, isError: true };
    if (typeof question !== 'string' || question.trim() === '')
      return { text: `not asked: ${tool} needs a question`, isError: true };
    const path = `${member.name}/${key.slice(key.lastIndexOf('/') + 1)}`;
    const before = this.#resultOf(path);
    if (before !== undefined) return before;
    await this.#place(signal);
    try {
      return await this.#asked(member, path, question, signal);
    } finally {
      this.#atWork -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #asked(
    member: FleetMember,
    path: string,
    question: string,
    signal: AbortSignal,
  ): Promise<ToolAnswer | Parked> {
    const { journal, ask } = this.#options;
    if (journal.rowsIn(path).length === 0) {
      journal.checkRoom();
      journal.add({ kind: 'entered', in: path });
      await journal.flush();
    }
    try {
      const reply = await ask(member, path, question, signal);
      if (isParked(reply)) {
        // It is looked at again and again.
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
    return this.#resultOf(path) ?? { text: 'it has given nothing', isError: true };
  }

  #endOf(path: string): Row | undefined {
    const isEnd = (row: Row) => row.in === path && (row.kind === 'ended' || row.kind === 'failed');
    return this.#options.journal.rowsIn(path).find(isEnd);
  }

  #resultOf(path: string): ToolAnswer | undefined {
    const end = this.#endOf(path);
    if (end === undefined) return undefined;
    if (end.kind === 'ended') return { text: boundedText(String(end.text)), isError: false };
    return { text: boundedText(`It could not answer: ${end.reason}`), isError: true };
  }

  get #members(): readonly FleetMember[] {
    return this.#options.fleet.members.filter(({ isManager }) => !isManager);
  }

  async #place(signal: AbortSignal): Promise<void> {
    while (this.#atWork >= this.#options.fleet.concurrency)
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    this.#atWork += 1;
    if (!signal.aborted) return;
    this.#atWork -= 1;
    this.#waiting.shift()?.();
    signal.throwIfAborted();
  }
}
