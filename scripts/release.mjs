// `npm run release -- VERSION`: makes a release in this checkout. Sets the version, dates the change log,
// commits, tags and packs. Does not push or publish. `--dry-run` only checks, and prints the release notes.

import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const root = resolve(import.meta.dirname, '..');
const HELP = `usage: npm run release -- VERSION [--dry-run] [--date YYYY-MM-DD]

Example: npm run release -- 0.2.0
Checks that the tree is clean and that CHANGELOG.md has an "Unreleased" section. Sets the version in package.json and
package-lock.json, dates the section, commits, tags vVERSION, and packs the tarball.`;

class ReleaseError extends Error {}

/** Returns the change log with the Unreleased notes moved to a dated section, and these notes. */
function dateChangeLog(text, version, date) {
  // The section ends at the next heading or where the text ends.
  const [, notes] = /^## Unreleased\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(text) ?? [];
  if (notes === undefined || notes.trim() === '')
    throw new ReleaseError('CHANGELOG.md has no changes under "## Unreleased"; describe them first');
  if (text.includes(`\n## ${version} `))
    throw new ReleaseError(`CHANGELOG.md already has a section ${version}; choose a higher version`);
  return {
    text: text.replace('## Unreleased\n', `## Unreleased\n\n## ${version} (${date})\n`),
    notes: notes.trim(),
  };
}

function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
}

/** Returns true if `version` precedes `other`. 0.2.0-rc.1 precedes 0.2.0 (semver.org, section 11). */
function precedes(version, other) {
  // Splits at the first hyphen: 0.2.0 and rc.1.
  const [[core, suffix], [otherCore, otherSuffix]] = [version, other].map((text) => text.split(/-(.*)/));
  const order = core.localeCompare(otherCore, 'en', { numeric: true });
  if (order !== 0) return order < 0;
  if (suffix === undefined || otherSuffix === undefined)
    return suffix !== undefined && otherSuffix === undefined;
  return suffix.localeCompare(otherSuffix, 'en', { numeric: true }) < 0;
}

/** Throws if the release is not possible. `current` is the present version. */
function check(version, date, current) {
  if (!/^\d+\.\d+\.\d+(?:-[0-9a-z.]+)?$/.test(version))
    throw new ReleaseError(`${version} is not a version such as 0.2.0`);
  if (precedes(version, current))
    throw new ReleaseError(`${version} is lower than the present version ${current}`);
  if (!/^\d{4}-\d\d-\d\d$/.test(date)) throw new ReleaseError(`${date} is not a date such as 2026-12-24`);
  if (git('status', '--porcelain') !== '')
    throw new ReleaseError('the working tree has changes; commit or stash them first');
  if (git('tag', '--list', `v${version}`) !== '')
    throw new ReleaseError(`the tag v${version} exists already; choose a higher version than ${current}`);
}

function release() {
  const { values, positionals } = parseArgs({
    options: {
      'dry-run': { type: 'boolean', default: false },
      date: { type: 'string', default: new Date().toISOString().slice(0, 10) },
      help: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const [version] = positionals;
  if (values.help || version === undefined) {
    console.log(HELP);
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  check(version, values.date, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version);
  const changeLog = join(root, 'CHANGELOG.md');
  const { text, notes } = dateChangeLog(readFileSync(changeLog, 'utf8'), version, values.date);
  console.log(notes);
  if (values['dry-run']) return;
  const npm = (...args) =>
    execFileSync('npm', [...args, '--loglevel=error'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    npm('version', version, '--no-git-tag-version', '--allow-same-version', '--no-workspaces-update');
    writeFileSync(changeLog, text);
    npm('pack');
    git('commit', '--all', '--quiet', '--message', `release: set version ${version}`);
  } catch (error) {
    // Undoes the changes. The tree had no others, which `check` ensures.
    git('checkout', '--', '.');
    rmSync(join(root, `actor-gateway-${version}.tgz`), { force: true });
    throw new ReleaseError(`nothing was released: ${error.message}`, { cause: error });
  }
  const message = `actor-gateway ${version}\n\n${notes}`;
  // By default Git removes lines that begin with #, such as the headings of the notes.
  git('tag', '--annotate', '--cleanup=whitespace', `v${version}`, '--message', message);
  console.log(`
Released ${version} in this checkout: commit ${git('rev-parse', '--short', 'HEAD')}, tag v${version}, actor-gateway-${version}.tgz
Publish with
  git push --follow-tags
  npm publish actor-gateway-${version}.tgz`);
}

try {
  release();
} catch (error) {
  if (!(error instanceof ReleaseError || error.code?.startsWith('ERR_PARSE_ARGS'))) throw error;
  console.error(`release: ${error.message}`);
  process.exitCode = 1;
}
