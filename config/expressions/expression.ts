// One expression of a file: read, checked and ready to be worked out, with the names that it refers to.
//
// EXP1  what has been read fails only by the values that it is given: a key that is missing, a type that does not fit.
// EXP2  what it gives is JSON.

import type { ASTNode } from '@marcbachmann/cel-js';
import { environmentFor, nodesOf, refusedIn, type Variables } from './environment.ts';
import { jsonOf } from './json-value.ts';

/** `steps.check` in an expression: a member of a variable that has names of its own. */
export interface Reference {
  readonly variable: string;
  /** Undefined where the name is not written out, as in `steps[x]`, or there is none. */
  readonly member: string | undefined;
  /** In the text, from 0. */
  readonly at: number;
}

export interface Expression {
  readonly text: string;
  /** As CEL calls it: `bool`, `string`, `dyn` where only the values will show. */
  readonly type: string;
  /** To members of those variables that were named to `readExpression`. */
  readonly references: readonly Reference[];
  /** Names of the functions it calls. */
  readonly functions: ReadonlySet<string>;
  /** Throws ExpressionError. */
  evaluate(values: Readonly<Record<string, unknown>>): unknown;
}

export interface ExpressionFault {
  readonly message: string;
  /** In the text, from 0. */
  readonly at: number;
}

/** An expression could not be worked out; the message says why. */
export class ExpressionError extends Error {
  readonly code = 'ERR_EXPRESSION';
  override get name(): string {
    return 'ExpressionError';
  }
}

const MAX_LENGTH = 8_192;

/** `named` are variables whose members are reported as references. */
export function readExpression(
  text: string,
  variables: Variables,
  named: readonly string[] = [],
): Expression | ExpressionFault {
  if (text.length > MAX_LENGTH)
    return { message: `an expression has at most ${MAX_LENGTH} characters`, at: 0 };
  const environment = environmentFor(variables);
  try {
    const parsed = environment.parse(text);
    const refused = refusedIn(parsed.ast);
    if (refused !== undefined) return refused;
    const { valid, type, error } = parsed.check();
    if (!valid) return wordIn(text) ?? faultOf(error);
    return {
      text,
      type: String(type),
      references: referencesIn(parsed.ast, new Set(named)),
      functions: functionsIn(parsed.ast),
      evaluate: (values) => {
        try {
          return jsonOf(parsed(values));
        } catch (thrown) {
          if (thrown instanceof ExpressionError) throw thrown;
          throw new ExpressionError(`${quoted(text)}: ${faultOf(thrown).message}`, { cause: thrown });
        }
      },
    };
  } catch (thrown) {
    return wordIn(text) ?? faultOf(thrown);
  }
}

const operators: Readonly<Record<string, string>> = {
  and: '&&',
  or: '||',
  not: '!',
  '===': '==',
  '!==': '!=',
};

/** What other languages write as words, outside quotes. */
function wordIn(text: string): ExpressionFault | undefined {
  for (const { 0: found, index } of text.matchAll(
    /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[=!]==|[A-Za-z_]\w*/g,
  )) {
    const sign = Object.hasOwn(operators, found) ? operators[found] : undefined;
    if (sign !== undefined) return { message: `${found} is written ${sign} here`, at: index };
  }
  return undefined;
}

export const isFault = (read: Expression | ExpressionFault): read is ExpressionFault => 'message' in read;

function referencesIn(root: ASTNode, named: ReadonlySet<string>): readonly Reference[] {
  const references: Reference[] = [];
  const owners = new Set<ASTNode>();
  for (const node of nodesOf(root)) {
    if (node.op === '.' || node.op === '[]') {
      const [of, member] = node.args as readonly [ASTNode, string | ASTNode];
      if (of.op !== 'id' || !named.has(of.args)) continue;
      owners.add(of);
      const name = typeof member === 'string' ? member : member.op === 'value' ? member.args : undefined;
      references.push({
        variable: of.args,
        member: typeof name === 'string' ? name : undefined,
        at: of.start,
      });
    } else if (node.op === 'id' && named.has(node.args) && !owners.has(node)) {
      references.push({ variable: node.args, member: undefined, at: node.start });
    }
  }
  return references;
}

function functionsIn(root: ASTNode): ReadonlySet<string> {
  return new Set([...nodesOf(root)].flatMap((node) => (node.op === 'call' ? [node.args[0]] : [])));
}

/** Of errors of the library only the first line says what is wrong; the others repeat the expression. */
function faultOf(thrown: unknown): ExpressionFault {
  const { summary, message, range } = (thrown ?? {}) as {
    readonly summary?: unknown;
    readonly message?: unknown;
    readonly range?: { readonly start?: number } | undefined;
  };
  const words = typeof summary === 'string' ? summary : String(message ?? thrown).split('\n')[0];
  return { message: lowered(words ?? ''), at: range?.start ?? 0 };
}

const lowered = (words: string) => words.charAt(0).toLowerCase() + words.slice(1);

const SHOWN = 120;

/** Returns an expression as messages show it, shortened. */
export const quoted = (text: string) => `\`${text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text}\``;
