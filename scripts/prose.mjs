// Counts difficult phrases and lines over 110 columns in comments, documents and texts for users.
//
//   node scripts/prose.mjs [PATH…]       prints each hit with file and line, and the hits per 1,000 words
//   node scripts/prose.mjs --lower       lowers the limits in test/prose-limits.txt to the present counts
//
// test/prose.test.ts compares each file's hits with the limit. A file that has no limit must have no hits.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const root = resolve(import.meta.dirname, '..');
const limitsFile = join(root, 'test/prose-limits.txt');
const WIDTH = 110;

const phrases = readFileSync(join(import.meta.dirname, 'prose-phrases.txt'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  // Longer phrases first, because a regular expression takes the first alternative that matches.
  .sort((one, other) => other.length - one.length)
  // A phrase with ^ occurs only where a sentence begins. Other phrases begin where a word begins.
  .map((phrase) => `${phrase.startsWith('^') ? '' : "(?<![\\w'-])"}${phrase.replaceAll(' ', '\\s+')}`);
const difficultPhrase = new RegExp(`(?:${phrases.join('|')})(?![\\w'-])`, 'gi');
/** Calls and members whose text people read. Group 1 is the quotation mark, group 2 the text. */
const userText =
  /(?:log\.(?:fatal|error|warn|info|debug)\(|Error\(|description\(|describe\(|(?:description|title|note|reason|help): ?)[^'"`]*(['"`])((?:(?!\1).){12,})\1/g;

/** Returns the paths of all checked files below `paths`, relative to the root. */
export function filesBelow(paths = []) {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...paths];
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
    .split('\0')
    .filter((path) => /\.(?:tsx?|m[jt]s|md)$/.test(path) && existsSync(join(root, path)))
    .sort();
}

/** Returns the hits in a file with line numbers, and the number of checked words. */
export function checkFile(path) {
  const lines = linesOf(path);
  const hits = [];
  let words = 0;
  for (const { line, prose } of proseOf(path, lines)) {
    words += prose.split(/\s+/).length;
    // Without the mark or number of a list item.
    for (const sentence of prose.split(/(?<=[.;:!?])\s+/))
      for (const [hit] of sentence.replace(/^[-*\d.\s]+/, '').matchAll(difficultPhrase))
        hits.push({ line, hit });
  }
  for (const [at, line] of lines.entries())
    if (line.length > WIDTH && isWrapped(path, line))
      hits.push({ line: at + 1, hit: `${line.length} columns` });
  return { hits, words };
}

/** Returns a file's lines. Code blocks in documents are empty lines. */
function linesOf(path) {
  let isInFence = false;
  return readFileSync(join(root, path), 'utf8')
    .split('\n')
    .map((line) => {
      if (!path.endsWith('.md')) return line;
      const isFence = /^\s*```/.test(line);
      if (isFence) isInFence = !isInFence;
      return isFence || isInFence ? '' : line;
    });
}

/**
 * Returns true for a line that can be wrapped: a comment or document text, but no table, link or long URL.
 */
function isWrapped(path, line) {
  if (!path.endsWith('.md')) return /^\s*(?:\/\/|\/?\*)/.test(line) && !/https?:\/\/\S{60}/.test(line);
  return !/^\s*(?:\||!?\[|[<#])/.test(line) && line.trim().includes(' ');
}

/** Yields paragraphs of comments and documents, and texts for users. Code in backticks is omitted. */
function* proseOf(path, lines) {
  let paragraph = [];
  let startedAt = 0;
  const endParagraph = function* () {
    if (paragraph.length > 0)
      yield {
        line: startedAt,
        prose: paragraph
          .join(' ')
          .replace(/`[^`]*`/g, 'X')
          .replace(/\]\([^)]*\)/g, ']'),
      };
    paragraph = [];
  };
  for (const [at, line] of lines.entries()) {
    let prose;
    // A document: no tables, headings, images or HTML.
    if (path.endsWith('.md')) prose = /^\s*(?:\||#|!\[|<)/.test(line) ? undefined : line;
    else {
      // A comment line, or a comment after code.
      prose = (/^\s*(?:\/\/|\/?\*+(?!\/))\s?(.*?)(?:\*\/)?$/.exec(line) ?? /\s\/\/ (.*)$/.exec(line))?.[1];
      for (const [, , found] of line.matchAll(userText))
        yield { line: at + 1, prose: found.replace(/\$\{[^}]*\}/g, 'X') };
    }
    if (prose === undefined || prose.trim() === '') yield* endParagraph();
    else {
      if (paragraph.length === 0) startedAt = at + 1;
      paragraph.push(prose.trim());
    }
  }
  yield* endParagraph();
}

/** Reads the limits: hits per path. */
export function readLimits() {
  const lines = readFileSync(limitsFile, 'utf8').split('\n');
  return new Map(
    lines
      .filter((line) => /^\S+ \d+$/.test(line))
      .map((line) => [line.split(' ')[0], Number(line.split(' ')[1])]),
  );
}

/** Writes the limits: each file's present hits, at most its previous limit. */
function lowerLimits() {
  const limits = existsSync(limitsFile) ? readLimits() : undefined;
  const rows = filesBelow()
    .map((path) => [path, checkFile(path).hits.length])
    .map(([path, count]) => [path, limits === undefined ? count : Math.min(count, limits.get(path) ?? 0)])
    .filter(([, count]) => count > 0);
  const header =
    '# Largest number of hits of scripts/prose.mjs per file. Written by `node scripts/prose.mjs --lower`.\n';
  writeFileSync(limitsFile, `${header}${rows.map((row) => `${row.join(' ')}\n`).join('')}`);
  console.log(`${rows.reduce((sum, [, count]) => sum + count, 0)} hits in ${rows.length} files`);
}

function printHits(paths) {
  let words = 0;
  let count = 0;
  for (const path of filesBelow(paths)) {
    const found = checkFile(path);
    words += found.words;
    count += found.hits.length;
    if (paths.length > 0) for (const { line, hit } of found.hits) console.log(`${path}:${line}  ${hit}`);
  }
  console.log(
    `${count} hits in ${words} words: ${((1000 * count) / Math.max(1, words)).toFixed(1)} per 1,000 words`,
  );
}

if (process.argv[1] === import.meta.filename) {
  const { values, positionals } = parseArgs({
    options: { lower: { type: 'boolean' } },
    allowPositionals: true,
  });
  if (values.lower) lowerLimits();
  else printHits(positionals);
}
