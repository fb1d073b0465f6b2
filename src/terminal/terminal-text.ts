// Makes foreign text safe for terminals: answers of agents, error messages, stderr of servers, names and
// event bodies. Terminals execute control sequences (title, clipboard, cursor), and bidirectional controls
// change the displayed order. All functions run in linear time.
//
// TT1  All text printed for people passes `forTerminal` as the last step (output.ts, screen.ts, log.ts). It
//      keeps only line breaks, tabs and the gateway's own colours. In JSON output, control characters become
//      JSON escapes, so that the value stays the same.

import { removeControlSequences } from '../../actors/base/errors/control-sequences.ts';
import { escapeHidden } from '../../actors/base/errors/hidden-characters.ts';
import { ownColours } from './paint.ts';

/** Control characters; not the joiners, which are harmless and needed for many scripts and emoji. */
const controls = /[^\P{Cc}\n\t]|(?![\u200c\u200d])\p{Cf}/gu;

/** Returns foreign text on one line, without control characters. */
export function printable(text: string): string {
  return removeControlSequences(text).replace(/\s+/g, ' ').replace(controls, '?');
}

/** Returns a foreign line without control characters, but with its indentation and tabs. */
export function printableLine(text: string): string {
  return removeControlSequences(text)
    .replace(/[\r\n\v\f\u2028\u2029]+/g, ' ')
    .replace(controls, '?');
}

/** Returns foreign text without control characters, except line breaks and tabs. */
export function printableLines(text: string): string {
  return removeControlSequences(text.replaceAll('\r\n', '\n')).replace(controls, '');
}

/** Removes control characters except for the gateway's own colours. */
export function forTerminal(text: string): string {
  // `split` returns texts at even indexes and colours at odd ones.
  return text
    .split(ownColours)
    .map((part, at) => (at % 2 === 0 ? printableLines(part) : part))
    .join('');
}

/** Returns equal JSON, with hidden characters as escapes. */
export function jsonForTerminal(json: string): string {
  return escapeHidden(json).replaceAll('\t', '\\u0009');
}
