// What the page knows of the run that it shows, and how each message changes it. No browser in here.
//
// RPS1  at most MAX_STEPS are kept: the newest.

import type { MemberRecord, NodeRecord, RunDetails, StepRecord } from '../../../http/api/run-shapes.ts';
import type { RunMessage, RunPlan } from '../../wire/run-wire.ts';

export const MAX_STEPS = 500;

export interface ShownRunState {
  /** Undefined before the first message. */
  readonly run: RunDetails | undefined;
  readonly steps: readonly StepRecord[];
  /** Of a flow or a fleet, as soon as it has begun. */
  readonly plan: RunPlan | undefined;
  /** By their places. */
  readonly nodes: ReadonlyMap<string, NodeRecord>;
  /** By their paths, in the order in which they came. */
  readonly members: ReadonlyMap<string, MemberRecord>;
  /** Of an answer that is being written. */
  readonly text: string;
}

export const nothingShown: ShownRunState = {
  ...{ run: undefined, steps: [], text: '', plan: undefined },
  ...{ nodes: new Map(), members: new Map() },
};

export function withMessage(state: ShownRunState, message: RunMessage): ShownRunState {
  switch (message.kind) {
    case 'run': {
      const { run, is_anew } = message.data;
      return is_anew ? { ...nothingShown, run } : { ...state, run };
    }
    case 'steps': {
      const last = state.steps.at(-1)?.n ?? 0;
      const fresh = message.data.steps.filter(({ n }) => n > last);
      return { ...state, steps: [...state.steps, ...fresh].slice(-MAX_STEPS) };
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

/** What is to be seen of some steps: a call with its result, and an approval with its decision, are one. */
export type Card =
  | {
      readonly kind: 'text';
      readonly n: number;
      readonly at: string;
      readonly title: string;
      readonly text: string;
      /** Of a flow or a fleet: who. */
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
      readonly decided: StepRecord | undefined;
    };

/** In the order in which they began. `isOver`: nothing more comes of what has no end. */
export function cardsOf(steps: readonly StepRecord[], isOver = false): readonly Card[] {
  const cards: Card[] = [];
  const places = new Map<string, number>();
  const lastTexts = new Map<string, string>();
  for (const step of steps) {
    const { n, at, text = '', part = '' } = step;
    const put = (key: string | undefined, card: Card): void => {
      const place = key === undefined ? undefined : places.get(key);
      if (place !== undefined) {
        const { n: began, at: since } = cards[place] ?? card;
        cards[place] = { ...card, n: began, at: since };
        return;
      }
      if (key !== undefined) places.set(key, cards.length);
      cards.push(card);
    };
    switch (step.kind) {
      case 'begun':
        put(undefined, { kind: 'text', n, at, title: 'asked', text, part: step.part });
        break;
      case 'answer':
        lastTexts.set(part, text);
        put(undefined, { kind: 'answer', n, at, step });
        break;
      case 'unfit':
        put(undefined, {
          kind: 'text',
          n,
          at,
          title: 'the answer does not fit its schema',
          text,
          part: step.part,
        });
        break;
      case 'called':
        put(`call ${part} ${step.call}`, {
          kind: 'call',
          n,
          at,
          step,
          state: isOver ? 'no result' : 'running',
        });
        break;
      case 'result':
        put(`call ${part} ${step.call}`, { kind: 'call', n, at, step, state: step.state ?? 'done' });
        break;
      case 'asked': {
        const state = isOver ? 'cancelled' : 'pending';
        put(`approval ${step.approval}`, { kind: 'approval', n, at, step, state, decided: undefined });
        break;
      }
      case 'decided': {
        const before = cards[places.get(`approval ${step.approval}`) ?? -1];
        const asked = before?.kind === 'approval' ? before.step : step;
        const state = step.state ?? 'decided';
        put(`approval ${step.approval}`, { kind: 'approval', n, at, step: asked, state, decided: step });
        break;
      }
      case 'ended':
        // Where it is what the model said last, that stands above.
        put(undefined, {
          kind: 'text',
          n,
          at,
          part: step.part,
          title: 'ended',
          text: text === lastTexts.get(part) ? '' : text,
        });
        break;
      case 'kept':
        break;
      default:
        put(undefined, { kind: 'text', n, at, title: titles[step.kind] ?? step.kind, text, part: step.part });
    }
  }
  return cards;
}

const titles: Readonly<Record<string, string>> = {
  flow: 'the flow begins',
  fleet: 'the fleet begins',
  entered: 'begins',
  left: 'done',
  again: 'will be tried again',
  parked: 'waits',
  turn: 'next turn',
  dropped: 'not needed',
};
