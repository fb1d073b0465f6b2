// `__complete SHELL -- WORDS…`, a hidden command that the completion scripts run (scripts.ts). The first
// output line is the mode (words, files, folders). Each further line contains a candidate, a tab and the
// meaning. Names with control characters or line breaks are omitted.

import type { Command } from 'commander';
import { print } from '../views/output.ts';
import { type Completion, completeWords, type Declare } from './complete-words.ts';
import { lookUpNames } from './look-up-names.ts';

/** Prints the candidates. Always returns exit code 0, because shells do not show errors of completion. */
export async function respondToShell(
  [shell = '', , ...words]: readonly string[],
  program: Command,
  declare: Declare,
): Promise<number> {
  const joined = shell === 'bash' ? joinWords(words) : { words, skip: 0 };
  const completion = await completeWords(joined.words, program, declare, lookUpNames).catch(() => undefined);
  if (completion !== undefined) await print(`${responseLines(completion, joined.skip).join('\n')}\n`);
  return 0;
}

/**
 * Returns the output lines. Omits the first `skip` characters of each candidate, because the shell keeps
 * them.
 */
export function responseLines({ mode, candidates }: Completion, skip: number): string[] {
  const printableCandidates = candidates.filter(
    ([word]) => word !== '' && !/[\p{C}\u2028\u2029]/u.test(word),
  );
  return [
    mode,
    ...printableCandidates.map(([word, meaning]) => `${word.slice(skip)}\t${meaning.replace(/\s+/g, ' ')}`),
  ];
}

/**
 * Joins words that Bash has split at `=` and `:`. Bash replaces only the text after the last of these
 * characters, so `skip` is the length up to it.
 */
export function joinWords(words: readonly string[]): { words: readonly string[]; skip: number } {
  const joined: string[] = [];
  let isOpen = false;
  for (const word of words) {
    const isBreak = /^[=:]+$/.test(word);
    if ((isBreak || isOpen) && joined.length > 0) joined.push((joined.pop() ?? '') + word);
    else joined.push(word);
    isOpen = isBreak;
  }
  const last = joined.at(-1) ?? '';
  return { words: joined, skip: Math.max(last.lastIndexOf('='), last.lastIndexOf(':')) + 1 };
}
