// `__complete SHELL -- WORDS…`: what the scripts of the shells ask (scripts.ts). The answer is a line that says what is completed
// (words, files, folders), and one for each candidate with its meaning behind a tab. It is hidden from the help.
//
// CMP2  a name from elsewhere that a terminal would obey, or that would be two lines, is no candidate.

import type { Command } from 'commander';
import { print } from '../views/output.ts';
import { type Completed, completed, type Declare } from './completed.ts';
import { knownNames } from './known-names.ts';

/** Prints the answer and gives the exit code, which is 0: a shell shows no failure of this. */
export async function answerShell(
  [shell = '', , ...words]: readonly string[],
  program: Command,
  declare: Declare,
): Promise<number> {
  const glued = shell === 'bash' ? gluedWords(words) : { words, skip: 0 };
  const answer = await completed(glued.words, program, declare, knownNames).catch(() => undefined);
  if (answer !== undefined) await print(`${linesOf(answer, glued.skip).join('\n')}\n`);
  return 0;
}

/** `skip` characters of each word are there already, and stay. */
export function linesOf({ mode, candidates }: Completed, skip: number): string[] {
  const good = candidates.filter(([word]) => word !== '' && !/[\p{C}\u2028\u2029]/u.test(word));
  return [mode, ...good.map(([word, meaning]) => `${word.slice(skip)}\t${meaning.replace(/\s+/g, ' ')}`)];
}

/** Bash takes `=` and `:` for the end of a word, and replaces what stands behind the last of them alone. */
export function gluedWords(words: readonly string[]): { words: readonly string[]; skip: number } {
  const glued: string[] = [];
  let isOpen = false;
  for (const word of words) {
    const isBreak = /^[=:]+$/.test(word);
    if ((isBreak || isOpen) && glued.length > 0) glued.push((glued.pop() ?? '') + word);
    else glued.push(word);
    isOpen = isBreak;
  }
  const last = glued.at(-1) ?? '';
  return { words: glued, skip: Math.max(last.lastIndexOf('='), last.lastIndexOf(':')) + 1 };
}
