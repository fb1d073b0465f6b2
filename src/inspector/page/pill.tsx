// State label: a text with a colour.

import type { StateValue } from '../wire/feed.ts';
import { stateText, toneOf } from './state-text.ts';

export function Pill({ state }: { readonly state: StateValue }) {
  return <span class={`pill ${toneOf(state)}`}>{stateText(state)}</span>;
}
