// Link to a view. A plain click changes the view without reloading the page; other clicks behave as usual.

import type { ComponentChildren } from 'preact';
import { type PageView, pathOf } from './address.ts';
import type { Go } from './feed/hooks.ts';

export interface LinkProps {
  readonly to: PageView;
  readonly go: Go;
  readonly children: ComponentChildren;
  readonly class?: string;
  /** True if the target is the current view. */
  readonly isCurrent?: boolean;
}

export function Link({ to, go, children, class: name = '', isCurrent = false }: LinkProps) {
  const onClick = (event: MouseEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={pathOf(to)} class={name} aria-current={isCurrent ? 'page' : undefined} onClick={onClick}>
      {children}
    </a>
  );
}
