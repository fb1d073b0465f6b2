// Name, state and extras of a tree row. Extras that do not fit disappear before the name is truncated.

import type { ComponentChildren } from 'preact';
import type { StateValue } from '../../wire/feed.ts';
import { Pill } from '../pill.tsx';

interface RowTextProps {
  readonly name: ComponentChildren;
  /** Complete name, for a truncated one. */
  readonly title: string;
  /** True for the key of a conversation: its end is distinctive, so it is truncated at the beginning. */
  readonly isKey?: boolean;
  readonly state?: StateValue;
  /** Extras, the most important first. */
  readonly children?: ComponentChildren;
}

export function RowText({ name, title, isKey = false, state, children }: RowTextProps) {
  return (
    <span class="row-text">
      <span class={isKey ? 'name key' : 'name'} title={title}>
        <bdi dir={isKey ? 'ltr' : undefined}>{name}</bdi>
      </span>
      <span class="extras">
        {state !== undefined && <Pill state={state} />}
        {children}
      </span>
    </span>
  );
}
