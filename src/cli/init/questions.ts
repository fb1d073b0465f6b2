// Asks the questions of `init` on a terminal. Enter selects the default; an invalid answer repeats the
// question.

import { homedir } from 'node:os';
import { isAbsolute, relative, resolve } from 'node:path';
import { createInterface, type Interface } from 'node:readline/promises';
import { parseListenAddr } from '../../../config/gateway-file/listen-addr.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { CommandLineError } from '../api/target-options.ts';
import { findClientFiles, thisMachine } from '../import/client-files.ts';
import { print } from '../views/output.ts';
import { defaults, type InitOptions, isPrivate } from './new-files.ts';

/** Asks all questions. `target` is the output folder. Throws CommandLineError on Ctrl-C and Ctrl-D. */
export async function askOptions(target: string): Promise<InitOptions> {
  const { stdin: input, stdout: output } = process;
  const terminal = createInterface({ input, output });
  const closed = new AbortController();
  terminal.on('SIGINT', () => closed.abort());
  terminal.on('close', () => closed.abort());
  try {
    const ask = (question: string) => askQuestion(terminal, question, closed.signal);
    const listen = await askListenAddress(ask);
    const hasKey = await askYesNo(ask, 'Require a key from clients?', !isPrivate(listen));
    const files = await askFolder(ask, target);
    const hasBrowser = await askYesNo(
      ask,
      'Add a browser for web pages? It needs Chromium or Chrome.',
      defaults.hasBrowser,
    );
    const isImporting = await askImport(ask);
    const hasTriggers = await askYesNo(
      ask,
      'Add a sample webhook and agent (no model, no key)?',
      defaults.hasTriggers,
    );
    return { listen, hasKey, files, hasBrowser, isImporting, hasTriggers };
  } finally {
    terminal.close();
  }
}

type Ask = (question: string) => Promise<string>;

async function askQuestion(terminal: Interface, question: string, signal: AbortSignal): Promise<string> {
  try {
    return (await terminal.question(question, { signal })).trim();
  } catch {
    await print('\n');
    throw new CommandLineError('cancelled; nothing was written');
  }
}

async function askListenAddress(ask: Ask): Promise<string> {
  for (;;) {
    const text = (await ask(`Address to listen on? [${defaults.listen}] `)) || defaults.listen;
    // A port alone and `localhost:PORT` are accepted, too.
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

async function askYesNo(ask: Ask, question: string, defaultValue: boolean): Promise<boolean> {
  for (;;) {
    const text = (await ask(`${question} [${defaultValue ? 'Y/n' : 'y/N'}] `)).toLowerCase();
    if (text === '') return defaultValue;
    if (/^y(?:es)?$/.test(text)) return true;
    if (/^no?$/.test(text)) return false;
    await print('  y or n\n');
  }
}

/** Asks whether to import servers, if configuration files of clients exist. */
async function askImport(ask: Ask): Promise<boolean> {
  const { found } = findClientFiles(thisMachine(process.env), undefined);
  const labels = [...new Set(found.flatMap(({ client }) => (client === undefined ? [] : [client.label])))];
  if (labels.length === 0) return defaults.isImporting;
  return askYesNo(ask, `Import the servers of ${labels.join(', ')}?`, defaults.isImporting);
}

/**
 * Asks for the folder of the files server; undefined for none. A typed path is relative to the current
 * folder.
 */
async function askFolder(ask: Ask, target: string): Promise<string | undefined> {
  const { files: defaultFolder = '' } = defaults;
  for (;;) {
    const text = await ask(`Folder that clients may read and write? [${defaultFolder}, - for none] `);
    if (text === '' || text === defaultFolder) return defaultFolder;
    if (text === '-' || text === 'none') return undefined;
    const path = text.replace(/^~(?=\/|$)/, homedir());
    if (isAbsolute(path)) return path;
    const relativePath = relative(target, resolve(path));
    if (!/\p{C}/u.test(path)) return relativePath.startsWith('..') ? relativePath : `./${relativePath}`;
    await print('  enter the path of a folder\n');
  }
}
