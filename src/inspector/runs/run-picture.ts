// What a page that shows a run of a flow or a fleet draws: the plan that the run began with, and how far its nodes and members have come.
// It is told all rows of the journal, in order, and says what has changed since it said so last.
//
// RPC1  texts are redacted and cut before anything keeps them. Of a run as much is kept as its plan has nodes and members, and of each row
//       of a part that it was there.

import { plainRow, type PlainRow as Row } from '../../../actors/agents/runs/plain-rows.ts';
import { type RunMember, RunMembers } from '../../../actors/agents/runs/run-members.ts';
import { RunNodes } from '../../../actors/agents/runs/run-nodes.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import { redactedJson } from '../../../actors/base/errors/redacted-json.ts';
import type { Step } from '../../../actors/store/run.ts';
import { nodePath } from '../../../machines/flow-run/node-path.ts';
import type { MemberRow, NodeRow, RunMessage, RunPlan } from '../wire/run-wire.ts';
import { drawnFleet, drawnGraph } from './plan-drawing.ts';

interface Noted {
  readonly input?: string | undefined;
  readonly output?: string | undefined;
  readonly approval?: string | undefined;
  readonly taken?: readonly number[] | undefined;
}

/** Rows of a flow about its nodes; what else the parts write says no more than that they are at work. */
const flowKinds: ReadonlySet<unknown> = new Set(
  'entered again waits parked turn left failed retried'.split(' '),
);

const MAX_TEXT = 2_000;
const MAX_PARAMETERS = 32;
const MAX_PARAMETER = 500;

export class RunPicture {
  readonly #redactor: Redactor;
  readonly #members: RunMembers;
  readonly #noted = new Map<string, Noted>();
  #plan: RunPlan | undefined;
  #isPlanTold = false;
  #nodes: RunNodes | undefined;
  /** As they were told last, by their places and paths. */
  readonly #told = new Map<string, string>();

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
    this.#members = new RunMembers(this.#excerpt, MAX_TEXT);
  }

  take(step: Step): void {
    const row = plainRow(step.text);
    const path = typeof row.in === 'string' ? row.in : undefined;
    if (path === undefined) this.#begin(row);
    else {
      this.#nodes?.add(shortened(step, path, row));
      this.#members.add(path, row, step.at);
      this.#note(path, row);
    }
  }

  /** What a page that knows all that was given before has to be told. */
  changes(isOver: boolean): readonly RunMessage[] {
    if (this.#plan === undefined) return [];
    const plan: readonly RunMessage[] = this.#isPlanTold ? [] : [{ kind: 'plan', data: this.#plan }];
    this.#isPlanTold = true;
    const all = this.#nodeRows(isOver);
    const ended = new Set(all.filter(({ ended_at }) => ended_at !== null).map(({ path }) => path));
    const isDropped = (path: string) => isOver || ended.has(ownerOf(path));
    const nodes = all.filter((node) => this.#isNews(`node ${node.place}`, node));
    const members = this.#members
      .list(isDropped)
      .map(memberRow)
      .filter((each) => this.#isNews(`member ${each.path}`, each));
    if (nodes.length + members.length === 0) return plan;
    return [...plan, { kind: 'parts', data: { nodes, members } }];
  }

  readonly #excerpt = (text: string, maxChars: number): string => this.#redactor.excerpt(text, maxChars);

  #begin({ kind, definition, input, parameters }: Row): void {
    if ((kind !== 'flow' && kind !== 'fleet') || typeof definition !== 'string' || this.#plan !== undefined)
      return;
    const flow = kind === 'flow' ? drawnGraph(definition, this.#excerpt) : undefined;
    const fleet = kind === 'fleet' ? drawnFleet(definition, this.#excerpt) : undefined;
    const given = typeof parameters === 'object' && parameters !== null ? Object.entries(parameters) : [];
    this.#plan = {
      input: typeof input === 'string' ? this.#excerpt(input, MAX_TEXT) : '',
      parameters: given
        .slice(0, MAX_PARAMETERS)
        .map(([name, value]) => [name, this.#excerpt(String(value), MAX_PARAMETER)]),
      flow: flow ?? null,
      fleet: fleet ?? null,
    };
    if (flow !== undefined) this.#nodes = new RunNodes(definition, this.#excerpt);
    if (fleet !== undefined) this.#members.begin('', fleet);
  }

  /** What the states of nodes do not have: what was asked, and by which approval. */
  #note(path: string, row: Row): void {
    if (this.#nodes === undefined || nodePath(path) === undefined) return;
    const add = (noted: Noted): void => {
      this.#noted.set(path, { ...this.#noted.get(path), ...noted });
    };
    switch (row.kind) {
      case 'entered':
        if (Array.isArray(row.items)) add({ input: this.#shown(row.items) });
        break;
      case 'begun':
        add({ input: this.#asked(row) });
        break;
      case 'fleet': {
        if (typeof row.input === 'string') add({ input: this.#excerpt(row.input, MAX_TEXT) });
        const fleet =
          typeof row.definition === 'string' ? drawnFleet(row.definition, this.#excerpt) : undefined;
        if (fleet !== undefined) this.#members.begin(`${path}/`, fleet);
        break;
      }
      case 'kept':
        if (typeof row.kept === 'string' && row.kept.length <= 100) add({ approval: row.kept });
        break;
      case 'turn':
        this.#members.forgetTurns(path);
        for (const each of [...this.#noted.keys()]) if (each.startsWith(`${path}#`)) this.#noted.delete(each);
        break;
      case 'left':
        add({
          output: row.output === null ? undefined : this.#shown(row.output),
          taken: Array.isArray(row.taken) ? row.taken.filter((place) => typeof place === 'number') : [],
        });
    }
  }

  #asked({ messages }: Row): string | undefined {
    const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
    const { text } = typeof last === 'object' && last !== null ? (last as Row) : {};
    return typeof text === 'string' ? this.#excerpt(text, MAX_TEXT) : undefined;
  }

  /** Text as it is; anything else as JSON that can be read. */
  #shown(value: unknown): string {
    if (typeof value === 'string') return this.#excerpt(value, MAX_TEXT);
    const redacted = redactedJson(value, (text) => this.#redactor.redact(text));
    return this.#excerpt(JSON.stringify(redacted, null, 2), MAX_TEXT);
  }

  #nodeRows(isOver: boolean): readonly NodeRow[] {
    return (this.#nodes?.list(isOver) ?? []).map((node) => {
      const { input, output, approval, taken } = this.#noted.get(node.path) ?? {};
      return {
        ...{ place: node.place, path: node.path, state: node.state, attempts: node.attempts },
        ...{ turn: node.turn ?? null, until: node.until ?? null, is_for_people: node.isForPeople },
        approval: node.type === 'Approval' ? (approval ?? null) : null,
        why: node.why === undefined ? null : this.#excerpt(node.why, MAX_TEXT),
        ...{ started_at: node.startedAt ?? null, ended_at: node.endedAt ?? null },
        // What a failure has taken back was not given.
        ...(node.state === 'done' ? { taken: taken ?? null, output: output ?? null } : NOTHING),
        input: input ?? null,
      };
    });
  }

  #isNews(key: string, row: NodeRow | MemberRow): boolean {
    const text = JSON.stringify(row);
    if (this.#told.get(key) === text) return false;
    this.#told.set(key, text);
    return true;
  }
}

const NOTHING = { taken: null, output: null };

const memberRow = ({ path, name, state, why, vote, output, startedAt, endedAt }: RunMember): MemberRow => ({
  ...{ path, name, state, why: why ?? null, vote: vote ?? null, output: output ?? null },
  ...{ started_at: startedAt ?? null, ended_at: endedAt ?? null },
});

/** Without what nodes are not told of: it is kept for each page, and may be long. */
function shortened({ at, text }: Step, path: string, { kind }: Row): Pick<Step, 'at' | 'text'> {
  if (kind === 'entered' || !flowKinds.has(kind)) return { at, text: JSON.stringify({ in: path, kind }) };
  return { at, text };
}

/** Who has asked the fleet of that member. */
const ownerOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
