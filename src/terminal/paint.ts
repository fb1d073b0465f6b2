// Colours for terminals; plain text for other outputs and with NO_COLOR (no-color.org).

import type { ServerState } from '../../machines/server.ts';

export type Style = 'good' | 'busy' | 'bad' | 'faint' | 'strong';

/** Styles a text, or returns it unchanged. */
export type Paint = (style: Style, text: string) => string;

const codes: Readonly<Record<Style, string>> = {
  good: '32',
  busy: '33',
  // White on red, to be visible among many servers.
  bad: '1;97;41',
  faint: '2',
  strong: '1',
};

/** Matches the colours of this file. The capture group makes `split` return them as well. */
export const ownColours = new RegExp(`(\u001b\\[(?:0|${Object.values(codes).join('|')})m)`);

export const plain: Paint = (_, text) => text;

const coloured: Paint = (style, text) => (text === '' ? '' : `\u001b[${codes[style]}m${text}\u001b[0m`);

/** Returns true for a terminal that supports escape sequences. */
export function isTerminal(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return stream.isTTY === true && env.TERM !== 'dumb';
}

/** Returns the width in characters; some terminals report 0. */
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
