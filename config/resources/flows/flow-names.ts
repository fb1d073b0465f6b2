// The names that expressions of a flow may use, and the checks that need all of its nodes: what stands before what.
//
// FNM1  an expression refers only to what is known when it is worked out: parameters of the flow, and nodes that stand certainly before its own.

import type { Variables } from '../../expressions/environment.ts';
import type { Reference } from '../../expressions/expression.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { suggest } from '../../reader/suggest.ts';

/** Variables of which only members that are there may be named. */
export const NAMED = ['steps', 'parameters'];

export const flowVariables: Variables = {
  steps: 'map<string, dyn>',
  parameters: 'map<string, string>',
  input: 'string',
  event: 'map<string, dyn>',
  user: 'string',
};

/** In a loop besides: what its turn is about, counted from 0. */
export const loopVariables: Variables = { ...flowVariables, item: 'dyn', index: 'int' };

/** Where a loop asks whether there is a further turn: its number from 0, and what the turn before has given, null before the first. */
export const whileVariables: Variables = { index: 'int', last: 'dyn' };

/** Where an expression stands. */
export interface Use {
  readonly path: string;
  readonly text: string;
  readonly references: readonly Reference[];
  /** The node that it is worked out for. */
  readonly node: string;
  /** After that node, on one of its connections: what the node has given is known. */
  readonly isAfter: boolean;
}

export interface KnownNames {
  readonly parameters: readonly string[];
  /** Nodes that stand before the node. */
  before(node: string): ReadonlySet<string>;
  readonly nodes: readonly string[];
}

export function checkNames(reader: SchemaReader, uses: readonly Use[], known: KnownNames): void {
  for (const { path, text, references, node, isAfter } of uses)
    for (const { variable, member, at } of references) {
      const fault =
        member === undefined
          ? `write the name out: ${variable}.NAME`
          : variable === 'parameters'
            ? parameterFault(member, known.parameters)
            : stepFault(member, node, isAfter, known);
      if (fault !== undefined) reader.reportWithin(path, text, at, fault);
    }
}

function parameterFault(name: string, parameters: readonly string[]): string | undefined {
  if (parameters.includes(name)) return undefined;
  return `there is no parameter ${name}${didYouMean(name, parameters)}`;
}

function stepFault(name: string, node: string, isAfter: boolean, known: KnownNames): string | undefined {
  if (!known.nodes.includes(name)) return `there is no node ${name}${didYouMean(name, known.nodes)}`;
  if (name === node) return isAfter ? undefined : `${name} is the node itself, which has given nothing yet`;
  return known.before(node).has(name) ? undefined : `${name} does not come before ${node}`;
}

export function didYouMean(name: string, known: readonly string[]): string {
  const near = suggest(name, known);
  return near === undefined ? '' : `; did you mean ${near}?`;
}
