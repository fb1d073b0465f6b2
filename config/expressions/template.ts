// Templates: texts with expressions in `{{ }}`, and values that contain such texts. A text that consists of a
// single `{{ }}` returns the expression's value with its type; any other template returns text. `}}` in
// quotes does not close an expression.

import type { Variables } from './environment.ts';
import { EvaluationBudget } from './evaluation-budget.ts';
import {
  type Expression,
  type ExpressionFault,
  isFault,
  type Reference,
  readExpression,
} from './expression.ts';

/** A configured value whose texts may contain expressions. The result is JSON. */
export type ValueTemplate =
  | { readonly kind: 'plain'; readonly value: unknown }
  | { readonly kind: 'text'; readonly template: Template }
  | { readonly kind: 'list'; readonly items: readonly ValueTemplate[] }
  | { readonly kind: 'map'; readonly members: Readonly<Record<string, ValueTemplate>> };

/** Throws ExpressionError. */
export function renderedValue(
  value: ValueTemplate,
  values: Readonly<Record<string, unknown>>,
  budget: EvaluationBudget,
): unknown {
  switch (value.kind) {
    case 'plain':
      return value.value;
    case 'text':
      return value.template.render(values, budget);
    case 'list':
      return value.items.map((item) => renderedValue(item, values, budget));
    case 'map':
      return Object.fromEntries(
        Object.entries(value.members).map(([key, member]) => [key, renderedValue(member, values, budget)]),
      );
  }
}

/** Returns the references to variables in all texts. */
export function referencesOf(value: ValueTemplate): readonly Reference[] {
  if (value.kind === 'text') return value.template.references;
  if (value.kind === 'list') return value.items.flatMap(referencesOf);
  return value.kind === 'map' ? Object.values(value.members).flatMap(referencesOf) : [];
}

/** Parsed text; without expressions it renders to itself. */
export interface Template {
  readonly references: readonly Reference[];
  /** Type, if the text is a single expression; undefined if the result is always text. */
  readonly type: string | undefined;
  /** Throws ExpressionError. */
  render(values: Readonly<Record<string, unknown>>, budget?: EvaluationBudget): unknown;
}

/** Literal text or an expression. */
export interface TemplatePart {
  readonly content: string | Expression;
  /** Position in the template, from 0. */
  readonly at: number;
}

/**
 * Splits a template into non-empty literal texts and expressions. `trackedNames`: variables whose accessed
 * members each expression lists.
 */
export function readParts(
  text: string,
  variables: Variables,
  trackedNames: readonly string[] = [],
): readonly TemplatePart[] | ExpressionFault {
  const parts: TemplatePart[] = [];
  let from = 0;
  for (;;) {
    const open = text.indexOf('{{', from);
    if (open === -1) break;
    const close = closingOf(text, open + 2);
    // The message means: the text has `{{` without a closing `}}`.
    if (close === -1) return { message: '{{ without }}', at: open };
    const inside = text.slice(open + 2, close);
    if (inside.trim() === '') return { message: 'the expression in {{ }} is empty', at: open };
    const read = readExpression(inside, variables, trackedNames);
    if (isFault(read)) return { message: read.message, at: open + 2 + read.at };
    if (open > from) parts.push({ content: text.slice(from, open), at: from });
    parts.push({ content: read, at: open });
    from = close + 2;
  }
  if (from < text.length) parts.push({ content: text.slice(from), at: from });
  return parts;
}

/** Returns the references to variables, with positions in the template; 2 is the length of `{{`. */
export function partReferences(parts: readonly TemplatePart[]): readonly Reference[] {
  return parts.flatMap(({ content, at }) =>
    typeof content === 'string' ? [] : content.references.map((each) => ({ ...each, at: at + 2 + each.at })),
  );
}

/** Parses a template. `trackedNames`: see `readExpression`. */
export function readTemplate(
  text: string,
  variables: Variables,
  trackedNames: readonly string[] = [],
): Template | ExpressionFault {
  const parts = readParts(text, variables, trackedNames);
  if ('message' in parts) return parts;
  const references = partReferences(parts);
  const contents = parts.map(({ content }) => content);
  const [only] = contents;
  if (contents.length === 1 && typeof only === 'object')
    return { references, type: only.type, render: (values, budget) => only.evaluate(values, budget) };
  return {
    references,
    type: undefined,
    render: (values, budget = new EvaluationBudget()) =>
      contents
        .map((part) => (typeof part === 'string' ? part : textOf(part.evaluate(values, budget))))
        .join(''),
  };
}

/** Converts a value to text within other text. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the end of the expression, or -1 without `}}`. */
function closingOf(text: string, from: number): number {
  let quote: string | undefined;
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (quote !== undefined) {
      if (char === '\\') at += 1;
      else if (char === quote) quote = undefined;
    } else if (char === '"' || char === "'") quote = char;
    else if (char === '{') depth += 1;
    else if (char === '}' && depth > 0) depth -= 1;
    else if (char === '}' && text[at + 1] === '}') return at;
  }
  return -1;
}
