// Parses a typed line: a message, a command, a pressed button, or a command of this program.

import { builtInCommand } from '../../actors/events/built-in-commands.ts';
import type { CommandBinding } from './gateway.ts';

export type ParsedLine =
  | { readonly do: 'nothing' | 'who' | 'help' | 'quit' }
  | { readonly do: 'place'; readonly name: string }
  | { readonly do: 'press'; readonly title: string }
  | { readonly do: 'command'; readonly name: string; readonly parameters: Readonly<Record<string, string>> }
  | { readonly do: 'say'; readonly text: string }
  | { readonly do: 'complain'; readonly why: string };

export interface ParseContext {
  readonly commands: ReadonlyMap<string, CommandBinding>;
  /** Titles of the current buttons. */
  readonly choices: readonly string[];
  /** @default true */
  readonly hasGroups?: boolean | undefined;
}

export function parseLine(line: string, { commands, choices, hasGroups = true }: ParseContext): ParsedLine {
  const text = line.trim();
  if (text === '') return { do: 'nothing' };
  const [, number] = /^#(\d+)$/.exec(text) ?? [];
  const title =
    number === undefined ? choices.find((each) => isSame(each, text)) : choices[Number(number) - 1];
  if (title !== undefined) return { do: 'press', title };
  if (number !== undefined)
    return {
      do: 'complain',
      why: choices.length === 0 ? 'there is no button' : `there are ${choices.length} buttons`,
    };
  const [found, name = '', rest = ''] = /^\/(\S+)\s*([\s\S]*)$/.exec(text) ?? [];
  if (found === undefined) return { do: 'say', text };
  if (name === 'who' || name === 'help' || name === 'quit') return { do: name };
  // `/place NAME` selects the conversation: alone with a person, or in a group (`#ops`). `/who` shows the
  // selected conversation.
  if (name === 'place' && rest === '') return { do: 'who' };
  if (name === 'place' && rest.startsWith('#') && !hasGroups)
    return { do: 'complain', why: 'this chat has no groups: each place is a person' };
  if (name === 'place') return { do: 'place', name: rest };
  const known = commands.get(name)?.parameters ?? builtInCommand(name)?.options ?? [];
  return { do: 'command', name, parameters: parametersOf(rest, known) };
}

const isSame = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();

/** Parses parameters by name, as `env: prod version: 2`, or by position; the last one takes the rest. */
function parametersOf(
  rest: string,
  known: readonly { readonly name: string }[],
): Readonly<Record<string, string>> {
  const names = known.length === 0 ? ['text'] : known.map(({ name }) => name);
  const named = [...rest.matchAll(/(?:^|\s)([\w-]+):/g)].filter(([, name = '']) => names.includes(name));
  if (named[0]?.index === 0) {
    const values = new Map(
      named.map(([whole, name = ''], index) => [
        name,
        rest.slice((named[index]?.index ?? 0) + whole.length, named[index + 1]?.index).trim(),
      ]),
    );
    // Platforms with text commands distinguish parameters by order.
    return Object.fromEntries([...values].sort(([a], [b]) => names.indexOf(a) - names.indexOf(b)));
  }
  const given: Record<string, string> = {};
  let left = rest;
  for (const [index, name] of names.entries()) {
    if (left === '') break;
    const [, value = '', more = ''] =
      index === names.length - 1 ? [left, left] : (/^(\S+)\s*([\s\S]*)$/.exec(left) ?? []);
    given[name] = value;
    left = more;
  }
  return given;
}
