// A link to a view: an ordinary one for the middle button and the address bar, without loading the page anew for a click.

import type { ComponentChildren } from 'preact';
import { pathOf, type View } from './address.ts';
import type { Go } from './feed/hooks.ts';

export interface LinkProps {
  readonly to: View;
  readonly go: Go;
  readonly children: ComponentChildren;
  readonly class?: string;
  /** It leads to what is shown already. */
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
