// A value of a file in which any text may have expressions: worked out, it is JSON.

import type { Reference } from './expression.ts';
import type { Template } from './template.ts';

export type ValueTemplate =
  | { readonly kind: 'plain'; readonly value: unknown }
  | { readonly kind: 'text'; readonly template: Template }
  | { readonly kind: 'list'; readonly items: readonly ValueTemplate[] }
  | { readonly kind: 'map'; readonly members: Readonly<Record<string, ValueTemplate>> };

/** Throws ExpressionError. */
export function renderedValue(value: ValueTemplate, values: Readonly<Record<string, unknown>>): unknown {
  switch (value.kind) {
    case 'plain':
      return value.value;
    case 'text':
      return value.template.render(values);
    case 'list':
      return value.items.map((item) => renderedValue(item, values));
    case 'map':
      return Object.fromEntries(
        Object.entries(value.members).map(([key, member]) => [key, renderedValue(member, values)]),
      );
  }
}

export function referencesOf(value: ValueTemplate): readonly Reference[] {
  if (value.kind === 'text') return value.template.references;
  if (value.kind === 'list') return value.items.flatMap(referencesOf);
  return value.kind === 'map' ? Object.values(value.members).flatMap(referencesOf) : [];
}
