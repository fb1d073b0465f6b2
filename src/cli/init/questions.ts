// The questions of `init`, on a terminal. Each shows what an empty answer means; an answer that cannot be is asked for again.

import { homedir } from 'node:os';
import { isAbsolute, relative, resolve } from 'node:path';
import { createInterface, type Interface } from 'node:readline/promises';
import { parseListenAddr } from '../../../config/gateway-file/listen-addr.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { UsageError } from '../api/target-options.ts';
import { filesOfClients, thisMachine } from '../import/found-files.ts';
import { print } from '../views/output.ts';
import { defaults, isPrivate, type Wishes } from './new-files.ts';

/** `target` is the folder that is written to. Throws UsageError when it is left with Ctrl-C or Ctrl-D. */
export async function askWishes(target: string): Promise<Wishes> {
  const { stdin: input, stdout: output } = process;
  const terminal = createInterface({ input, output });
  const left = new AbortController();
  terminal.on('SIGINT', () => left.abort());
  terminal.on('close', () => left.abort());
  try {
    const ask = (question: string) => answer(terminal, question, left.signal);
    const listen = await listenAddress(ask);
    const hasKey = await yesOrNo(ask, 'Ask clients for a key?', !isPrivate(listen));
    const files = await folder(ask, target);
    const hasBrowser = await yesOrNo(
      ask,
      'A browser for reading pages? It needs Chromium or Chrome.',
      defaults.hasBrowser,
    );
    const isImporting = await takesOver(ask);
    const hasTriggers = await yesOrNo(
      ask,
      'A webhook and an agent to try (no model, no key)?',
      defaults.hasTriggers,
    );
    return { listen, hasKey, files, hasBrowser, isImporting, hasTriggers };
  } finally {
    terminal.close();
  }
}

type Ask = (question: string) => Promise<string>;

async function answer(terminal: Interface, question: string, signal: AbortSignal): Promise<string> {
  try {
    return (await terminal.question(question, { signal })).trim();
  } catch {
    await print('\n');
    throw new UsageError('left without an answer; nothing is written');
  }
}

async function listenAddress(ask: Ask): Promise<string> {
  for (;;) {
    const text = (await ask(`Address to listen on? [${defaults.listen}] `)) || defaults.listen;
    // A port alone, or a host without one, is what many type.
    const whole = /^\d+$/.test(text)
      ? `127.0.0.1:${text}`
      : /^localhost:/.test(text)
        ? text.replace('localhost', '127.0.0.1')
        : text;
    try {
      parseListenAddr(whole);
      return whole;
    } catch (error) {
      await print(`  ${printable((error as Error).message)}\n`);
    }
  }
}

async function yesOrNo(ask: Ask, question: string, byDefault: boolean): Promise<boolean> {
  for (;;) {
    const text = (await ask(`${question} [${byDefault ? 'Y/n' : 'y/N'}] `)).toLowerCase();
    if (text === '') return byDefault;
    if (/^y(?:es)?$/.test(text)) return true;
    if (/^no?$/.test(text)) return false;
    await print('  y or n\n');
  }
}

/** Asked only where there is something. */
async function takesOver(ask: Ask): Promise<boolean> {
  const { found } = filesOfClients(thisMachine(process.env), undefined);
  const labels = [...new Set(found.flatMap(({ client }) => (client === undefined ? [] : [client.label])))];
  if (labels.length === 0) return defaults.isImporting;
  return yesOrNo(ask, `Take over the servers of ${labels.join(', ')}?`, defaults.isImporting);
}

/** Undefined for none. What is typed is meant from where one is, as in any shell. */
async function folder(ask: Ask, target: string): Promise<string | undefined> {
  const { files: usual = '' } = defaults;
  for (;;) {
    const text = await ask(`Files of which folder may clients read and write? [${usual}, - for none] `);
    if (text === '' || text === usual) return usual;
    if (text === '-' || text === 'none') return undefined;
    const path = text.replace(/^~(?=\/|$)/, homedir());
    if (isAbsolute(path)) return path;
    const fromThere = relative(target, resolve(path));
    if (!/\p{C}/u.test(path)) return fromThere.startsWith('..') ? fromThere : `./${fromThere}`;
    await print('  the name of a folder\n');
  }
}
