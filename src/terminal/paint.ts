// Colours for a terminal, and none for anything else. NO_COLOR (no-color.org) switches them off.

import type { ServerState } from '../../machines/server.ts';

export type Style = 'good' | 'busy' | 'bad' | 'faint' | 'strong';

/** Gives the text in a style, or as it is. */
export type Paint = (style: Style, text: string) => string;

const codes: Readonly<Record<Style, string>> = {
  good: '32',
  busy: '33',
  // White on red: a failed server has to be seen in a window full of others.
  bad: '1;97;41',
  faint: '2',
  strong: '1',
};

/** Each of our own sequences; captured, so that a text can be split at them. */
export const ownColours = new RegExp(`(\u001b\\[(?:0|${Object.values(codes).join('|')})m)`);

export const plain: Paint = (_, text) => text;

const coloured: Paint = (style, text) => (text === '' ? '' : `\u001b[${codes[style]}m${text}\u001b[0m`);

/** Whether a stream is a terminal that understands more than text. */
export function isTerminal(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return stream.isTTY === true && env.TERM !== 'dumb';
}

/** Characters in a line of a terminal. One that does not know says 0. */
export function columnsOf(stream: { readonly columns?: number }): number {
  return stream.columns || 80;
}

export function hasColours(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return isTerminal(stream, env) && !env.NO_COLOR;
}

export function paintFor(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Paint {
  return hasColours(stream, env) ? coloured : plain;
}

export const styleOf: Readonly<Record<ServerState, Style>> = {
  running: 'good',
  idle: 'good',
  starting: 'busy',
  stopping: 'busy',
  stopped: 'faint',
  failed: 'bad',
};
