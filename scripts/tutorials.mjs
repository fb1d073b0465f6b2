// Runs the commands of README.md and docs/tutorials in a shell and compares their output with the page.
//
//   node scripts/tutorials.mjs [PAGE…] [--in FOLDER] [--port N]
//
// FOLDER is a built checkout (default: this checkout). The commands in a `sh` block are run; a block directly
// after it is the expected output. In this output `…` matches any text, and a line `…` any number of lines.
// Times, durations, process ids, versions and ports match other values. The first use of an id in the page
// matches any id of the output; its further uses must match the same id. Comments before a `sh` block:
//   <!-- terminal: NAME -->   runs in the background; the next block starts after the expected output
//   <!-- Ctrl-C: NAME -->     stops that terminal first
//   <!-- typed -->            runs in a terminal; the text after a prompt in the expected output is typed
//   <!-- fails -->            must exit with a code other than 0
//   <!-- not run -->          is not run

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs, stripVTControlCharacters } from 'node:util';

const root = resolve(import.meta.dirname, '..');
const { values, positionals } = parseArgs({
  options: { in: { type: 'string', default: root }, port: { type: 'string', default: '8080' } },
  allowPositionals: true,
});
/** Time limit per block. */
const BLOCK_TIMEOUT_MS = 120_000;
/** Time that a terminal has to end after Ctrl-C. */
const GRACE_MS = 20_000;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
/**
 * Texts that differ from run to run: the expression for the page, and the expression for the actual output
 * (default: the same). The first match is used.
 */
const VOLATILE = [
  // Times with and without a date.
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|[+-]\d\d:\d\d)/],
  [/\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?/],
  // Durations, process ids, the version and random ports.
  [/\b\d+(?:\.\d+)?(?:ms|s)\b/, /\d+(?:\.\d+)?(?:ms|s|m)/],
  [/\(pid \d+\)/],
  [/(?<=actor-gateway )\d+\.\d+\.\d+/, /\S+/],
  [/127\.0\.0\.1:(?!8080)\d+/],
  [UUID],
  [/…/, /.*/],
  // Column widths depend on the values.
  [/ {2,}/, / +/],
];
const volatile = new RegExp(VOLATILE.map(([pattern]) => `(${pattern.source})`).join('|'), 'g');
/** Chat prompt, or a question with two answers, and the text that is typed after it. */
const PROMPT = /^((?:\S+)?> |.*\[y\/N\] )(.+)$/;
const DIRECTIVES = ['terminal', 'Ctrl-C', 'typed', 'fails', 'not run'];

/** Open terminals of the current page by name. */
const terminals = new Map();
/** Actual ids by the ids in the page. */
const ids = new Map();

for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    for (const { shell } of terminals.values()) signalGroup(shell, 'SIGKILL');
    process.exit(1);
  });
const tutorials = readdirSync(join(root, 'docs/tutorials')).map((name) => `docs/tutorials/${name}`);
const pages = positionals.length > 0 ? positionals : ['README.md', ...tutorials];
for (const page of pages) await runPage(page);

async function runPage(page) {
  const home = mkdtempSync(join(tmpdir(), 'tutorial-'));
  try {
    for (const block of blocksOf(readFileSync(resolve(root, page), 'utf8'))) {
      const startedAt = performance.now();
      await runBlock(block, home).catch((error) => {
        throw new Error(`line ${block.line}: ${error.message}`);
      });
      console.log(
        `${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${page}:${block.line}`,
      );
    }
  } catch (error) {
    console.error(`${page}: ${error.message}`);
    process.exitCode = 1;
  } finally {
    for (const name of [...terminals.keys()]) await endTerminal(name);
    ids.clear();
    rmSync(home, { recursive: true, force: true });
  }
}

/** Returns the `sh` blocks with line number, directives, commands and expected lines. */
function blocksOf(text) {
  const blocks = [];
  const lines = text.split('\n');
  let directives = {};
  for (let at = 0; at < lines.length; at += 1) {
    const [, name, value = true] = /^<!-- ([\w -]+?)(?:: (\S+))? -->$/.exec(lines[at]) ?? [];
    if (name !== undefined) directives[name] = value;
    const fence = /^```(\w*)$/.exec(lines[at]);
    if (fence === null) continue;
    const end = lines.indexOf('```', at + 1);
    if (end < 0) throw new Error(`line ${at + 1}: the block has no end`);
    const content = lines.slice(at + 1, end);
    if (fence[1] === 'sh') {
      const unknown = Object.keys(directives).find((each) => !DIRECTIVES.includes(each));
      if (unknown !== undefined) throw new Error(`line ${at + 1}: unknown directive ${unknown}`);
      blocks.push({ line: at + 1, directives, commands: content.join('\n'), expected: [] });
      directives = {};
    } else if (
      // A block directly after a `sh` block is the expected output.
      lines.slice(0, at).findLast((line) => line !== '') === '```' &&
      blocks.at(-1)?.expected.length === 0
    )
      blocks.at(-1).expected = content;
    at = end;
  }
  return blocks.filter((block) => block.directives['not run'] === undefined);
}

async function runBlock({ directives, commands, expected }, home) {
  const { terminal, typed: isTyped = false, fails: isFailing = false } = directives;
  const terminalToEnd = directives['Ctrl-C'];
  if (terminalToEnd !== undefined) await endTerminal(terminalToEnd);
  if (terminals.has(terminal)) throw new Error(`the terminal ${terminal} is in use`);
  const command = withIds(commands).replaceAll('8080', values.port);
  // `script` runs a command in a terminal.
  const [program, args] = isTyped ? ['script', ['-qefc', command, '/dev/null']] : ['bash', ['-ec', command]];
  // A separate process group, so that Ctrl-C reaches all programs of the terminal.
  const shell = spawn(program, args, {
    cwd: resolve(values.in),
    env: { ...process.env, HOME: home, NO_COLOR: '1', COLUMNS: '200' },
    detached: true,
  });
  const closed = new Promise((done) => shell.once('close', done));
  let output = '';
  const normalisedOutput = () =>
    stripVTControlCharacters(output)
      .replaceAll('\r', '')
      .replaceAll(resolve(values.in), '/opt/actor-gateway')
      .replaceAll(home, '/home/ada')
      .replaceAll(`:${values.port}`, ':8080');
  if (terminal !== undefined) terminals.set(terminal, { shell, closed });
  const typing = isTyped ? typeLines(shell, expected, normalisedOutput) : undefined;
  if (!isTyped) shell.stdin.end();
  const timer = setTimeout(() => signalGroup(shell, 'SIGKILL'), BLOCK_TIMEOUT_MS);
  try {
    await new Promise((done, reject) => {
      for (const stream of [shell.stdout, shell.stderr])
        stream.setEncoding('utf8').on('data', (text) => {
          output += text;
          if (terminal !== undefined && findMismatch(expected, normalisedOutput(), true) === undefined)
            done();
        });
      void closed.then((code) => {
        // A background terminal must not exit before its expected output, which calls `done` above.
        if (isTyped || ((code !== 0) === isFailing && terminal === undefined)) done();
        else reject(new Error(`the commands ended with ${code}; they wrote\n${normalisedOutput()}`));
      });
    });
  } finally {
    clearTimeout(timer);
  }
  const mismatch = isTyped
    ? await typing
    : findMismatch(expected, normalisedOutput(), terminal !== undefined);
  if (mismatch !== undefined)
    throw new Error(`the output differs at\n${mismatch}\nthe output is\n${normalisedOutput()}`);
}

/**
 * Types the text after each prompt when the prompt is displayed, finally Ctrl-C. Returns the first expected
 * line that is missing when the program exits, or undefined.
 */
async function typeLines(shell, expected, normalisedOutput) {
  let at = 0;
  for (const line of expected.filter((text) => text !== '…')) {
    // A line that has no prompt only has to be displayed.
    const [, prompt, typed] = PROMPT.exec(line) ?? [undefined, line, undefined];
    const pattern = new RegExp(expression(prompt.trim()));
    let found = pattern.exec(normalisedOutput().slice(at));
    while (found === null) {
      if (shell.exitCode !== null || shell.signalCode !== null) return line;
      await new Promise((wake) => setTimeout(wake, 20));
      found = pattern.exec(normalisedOutput().slice(at));
    }
    at += found.index + found[0].length;
    if (typed !== undefined) shell.stdin.write(`${withIds(typed)}\n`);
  }
  shell.stdin.write('\u0003');
  return undefined;
}

/**
 * Returns the first expected line that is missing in the output, or undefined. Records ids. `mayContinue`:
 * the output may have further lines, because the terminal is still running.
 */
function findMismatch(expected, output, mayContinue) {
  if (expected.length === 0) return undefined;
  const lines = output
    .trimEnd()
    .split('\n')
    .map((text) => text.trimEnd());
  let at = 0;
  // After `…`, the next expected line may be any later line of the output.
  let maySkipLines = false;
  for (const text of expected) {
    if (text.trim() === '…') {
      maySkipLines = true;
      continue;
    }
    const pattern = new RegExp(`^${expression(text.trimEnd())}$`);
    const next = maySkipLines ? lines.findIndex((line, index) => index >= at && pattern.test(line)) : at;
    // After the end of the output, '\n' is tested, which no expected line matches.
    const match = pattern.exec(lines[next] ?? '\n');
    if (match === null) return text;
    // `expression` names a group after the id: `i`, then the id with `_` for `-`.
    for (const [name, id] of Object.entries(match.groups ?? {}))
      ids.set(name.slice(1).replaceAll('_', '-'), id);
    at = next + 1;
    maySkipLines = false;
  }
  return mayContinue || maySkipLines || at === lines.length
    ? undefined
    : `the end, where it continues with\n${lines[at]}`;
}

/** Returns the source of an expression that matches an expected line. A new id is a named group. */
function expression(line) {
  let source = '';
  let last = 0;
  const groupNames = new Set();
  for (const found of line.matchAll(volatile)) {
    const [pattern, replacement = pattern] =
      VOLATILE[found.slice(1).findIndex((group) => group !== undefined)];
    source += escapeText(line.slice(last, found.index));
    if (pattern !== UUID) source += replacement.source;
    else if (ids.has(found[0])) source += ids.get(found[0]);
    else {
      const name = `i${found[0].replaceAll('-', '_')}`;
      source += groupNames.has(name) ? `\\k<${name}>` : `(?<${name}>${UUID.source})`;
      groupNames.add(name);
    }
    last = found.index + found[0].length;
  }
  return source + escapeText(line.slice(last));
}

function escapeText(text) {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

/** Replaces the ids of the page by the actual ids. */
function withIds(text) {
  return text.replace(new RegExp(UUID, 'g'), (id) => ids.get(id) ?? id);
}

/** Stops a background terminal with Ctrl-C. */
async function endTerminal(name) {
  const terminal = terminals.get(name);
  if (terminal === undefined) throw new Error(`there is no terminal ${name}`);
  terminals.delete(name);
  signalGroup(terminal.shell, 'SIGINT');
  const timer = setTimeout(() => signalGroup(terminal.shell, 'SIGKILL'), GRACE_MS);
  await terminal.closed;
  clearTimeout(timer);
}

function signalGroup(shell, signal) {
  try {
    process.kill(-shell.pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
