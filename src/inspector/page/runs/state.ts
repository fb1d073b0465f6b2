// State of the displayed run, and pure functions that apply a message and convert steps to cards. Only the
// newest MAX_STEPS steps are stored.

import type { MemberRecord, NodeRecord, RunDetails, StepRecord } from '../../../http/api/run-shapes.ts';
import type { RunMessage, RunPlan } from '../../wire/run.ts';

export const MAX_STEPS = 500;

export interface WatchedRunState {
  /** Undefined before the first message. */
  readonly run: RunDetails | undefined;
  readonly steps: readonly StepRecord[];
  /** Flow or fleet definition, once started. */
  readonly plan: RunPlan | undefined;
  /** Nodes of a flow by `place`: the path without iteration numbers, such as `poll/check`. */
  readonly nodes: ReadonlyMap<string, NodeRecord>;
  /** Members (agents) of a fleet by path, in start order. */
  readonly members: ReadonlyMap<string, MemberRecord>;
  /** Answer text in progress. */
  readonly text: string;
}

export const emptyRun: WatchedRunState = {
  run: undefined,
  steps: [],
  text: '',
  plan: undefined,
  nodes: new Map(),
  members: new Map(),
};

export function applyMessage(state: WatchedRunState, message: RunMessage): WatchedRunState {
  switch (message.kind) {
    case 'run': {
      // `is_anew`: a new run replaced the previous one under this id, so the previous state is discarded.
      const { run, is_anew } = message.data;
      return is_anew ? { ...emptyRun, run } : { ...state, run };
    }
    case 'steps': {
      const last = state.steps.at(-1)?.n ?? 0;
      const newSteps = message.data.steps.filter(({ n }) => n > last);
      return { ...state, steps: [...state.steps, ...newSteps].slice(-MAX_STEPS) };
    }
    case 'plan':
      return { ...state, plan: message.data, nodes: new Map(), members: new Map() };
    case 'parts': {
      const { nodes, members } = message.data;
      return {
        ...state,
        nodes: new Map([...state.nodes, ...nodes.map((node) => [node.place, node] as const)]),
        members: new Map([...state.members, ...members.map((member) => [member.path, member] as const)]),
      };
    }
    case 'text':
      return { ...state, text: message.data.text };
  }
}

/** Displayed step. A call and its result share a card, like an approval and its decision. */
export type Card =
  | {
      readonly kind: 'text';
      readonly n: number;
      readonly at: string;
      readonly title: string;
      readonly text: string;
      /** Node or member, in a flow or a fleet. */
      readonly part?: string | undefined;
    }
  | { readonly kind: 'answer'; readonly n: number; readonly at: string; readonly step: StepRecord }
  | {
      readonly kind: 'call';
      readonly n: number;
      readonly at: string;
      readonly step: StepRecord;
      readonly state: string;
    }
  | {
      readonly kind: 'approval';
      readonly n: number;
      readonly at: string;
      readonly step: StepRecord;
      readonly state: string;
      readonly decision: StepRecord | undefined;
    };

/** Returns the cards of the steps, in the order of their first steps. `isOver`: the run has ended. */
export function cardsOf(steps: readonly StepRecord[], isOver = false): readonly Card[] {
  const cards: Card[] = [];
  const indexes = new Map<string, number>();
  const lastTexts = new Map<string, string>();
  for (const step of steps) {
    const { n, at, text = '', part = '' } = step;
    const putCard = (key: string | undefined, card: Card): void => {
      const index = key === undefined ? undefined : indexes.get(key);
      if (index !== undefined) {
        const { n: began, at: since } = cards[index] ?? card;
        cards[index] = { ...card, n: began, at: since };
        return;
      }
      if (key !== undefined) indexes.set(key, cards.length);
      cards.push(card);
    };
    switch (step.kind) {
      case 'begun':
        putCard(undefined, { kind: 'text', n, at, title: 'request', text, part: step.part });
        break;
      case 'answer':
        lastTexts.set(part, text);
        putCard(undefined, { kind: 'answer', n, at, step });
        break;
      case 'unfit':
        putCard(undefined, {
          kind: 'text',
          n,
          at,
          title: 'the response does not match its schema',
          text,
          part: step.part,
        });
        break;
      case 'called':
        putCard(`call ${part} ${step.call}`, {
          kind: 'call',
          n,
          at,
          step,
          state: isOver ? 'no result' : 'running',
        });
        break;
      case 'result':
        putCard(`call ${part} ${step.call}`, { kind: 'call', n, at, step, state: step.state ?? 'done' });
        break;
      case 'asked': {
        const state = isOver ? 'cancelled' : 'pending';
        putCard(`approval ${step.approval}`, { kind: 'approval', n, at, step, state, decision: undefined });
        break;
      }
      case 'decided': {
        const requestCard = cards[indexes.get(`approval ${step.approval}`) ?? -1];
        const request = requestCard?.kind === 'approval' ? requestCard.step : step;
        const state = step.state ?? 'decided';
        putCard(`approval ${step.approval}`, {
          kind: 'approval',
          n,
          at,
          step: request,
          state,
          decision: step,
        });
        break;
      }
      case 'ended':
        // The text of the end is omitted if the last answer already shows it.
        putCard(undefined, {
          kind: 'text',
          n,
          at,
          part: step.part,
          title: 'ended',
          text: text === lastTexts.get(part) ? '' : text,
        });
        break;
      // A step without text: it only stores the state of the run.
      case 'kept':
        break;
      default:
        putCard(undefined, {
          kind: 'text',
          n,
          at,
          title: titles[step.kind] ?? step.kind,
          text,
          part: step.part,
        });
    }
  }
  return cards;
}

/** Titles of the cards by kind of step. */
const titles: Readonly<Record<string, string>> = {
  flow: 'flow started',
  fleet: 'fleet started',
  entered: 'started',
  left: 'done',
  again: 'retry scheduled',
  parked: 'waiting',
  turn: 'next iteration',
  dropped: 'not needed',
};
