// Variables in the expressions of flows. Members of `steps` (outputs of nodes) and `parameters` are checked:
// an expression may refer only to nodes that run before its own node, and to declared parameters. Members of
// `event` are not checked.

import type { Variables } from '../../expressions/environment.ts';
import type { Reference } from '../../expressions/expression.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { suggest } from '../../reader/suggest.ts';

/** Variables whose member names are checked. */
export const checkedVariables = ['steps', 'parameters'];

/** Variables with their types in all expressions; `dyn` is known only at run time. */
export const flowVariables: Variables = {
  steps: 'map<string, dyn>',
  parameters: 'map<string, string>',
  input: 'string',
  event: 'map<string, dyn>',
  user: 'string',
};

/** Variables of nodes in a loop: in addition, the current item and the index from 0. */
export const loopVariables: Variables = { ...flowVariables, item: 'dyn', index: 'int' };

/**
 * Additional variables of a loop's condition `while`: the index from 0, and the result of the previous
 * iteration (null before the first).
 */
export const whileVariables: Variables = { index: 'int', last: 'dyn' };

/** An expression with its references to checked variables. */
export interface NameUse {
  /** Path of the field in the file. */
  readonly path: string;
  /** Text of the field, for the positions of errors. */
  readonly text: string;
  /** References to members of `checkedVariables` only. */
  readonly references: readonly Reference[];
  /** Node that evaluates the expression. */
  readonly node: string;
  /** True for the condition of an outgoing connection, where the node's own result is available. */
  readonly isAfterNode: boolean;
}

export interface KnownNames {
  readonly parameters: readonly string[];
  /** Returns the nodes that run before the node. */
  before(node: string): ReadonlySet<string>;
  readonly nodes: readonly string[];
}

/** Reports references to unknown parameters and nodes, and to nodes that do not run before. */
export function checkNames(reader: SchemaReader, uses: readonly NameUse[], known: KnownNames): void {
  for (const { path, text, references, node, isAfterNode } of uses)
    for (const { variable, member, at } of references) {
      const fault =
        member === undefined
          ? `write the member name literally: ${variable}.NAME`
          : variable === 'parameters'
            ? parameterFault(member, known.parameters)
            : stepFault(member, node, isAfterNode, known);
      if (fault !== undefined) reader.reportWithin(path, text, at, fault);
    }
}

function parameterFault(name: string, parameters: readonly string[]): string | undefined {
  if (parameters.includes(name)) return undefined;
  return `there is no parameter ${name}${didYouMean(name, parameters)}`;
}

function stepFault(name: string, node: string, isAfterNode: boolean, known: KnownNames): string | undefined {
  if (!known.nodes.includes(name)) return `there is no node ${name}${didYouMean(name, known.nodes)}`;
  if (name === node) return isAfterNode ? undefined : `${name} is the node itself, which has no output yet`;
  return known.before(node).has(name) ? undefined : `${name} does not come before ${node}`;
}

/** Completes a message about an unknown name. */
export function didYouMean(name: string, known: readonly string[]): string {
  const near = suggest(name, known);
  return near === undefined ? '' : `; did you mean ${near}?`;
}
