// A state, in a word and a colour.

import type { StateValue } from '../wire/feed-wire.ts';
import { stateText, toneOf } from './state-words.ts';

export function Pill({ state }: { readonly state: StateValue }) {
  return <span class={`pill ${toneOf(state)}`}>{stateText(state)}</span>;
}
